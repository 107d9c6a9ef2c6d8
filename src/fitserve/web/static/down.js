// A deployment that has ended: nobody answers until somebody starts it again. One that never lived has no end to know.
import { t } from "./texts.js";

export const isDown = (status) => ["failed", "stopped"].includes(status?.state) && Boolean(status.since);

export const nextStep = ({ state, name }) => t(state === "failed" ? "page.engine_failed_next" : "page.engine_stopped_next", { name });
