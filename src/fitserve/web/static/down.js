// A deployment that has ended: nobody answers until somebody starts it again.
import { t } from "./texts.js";

export const isDown = (status) => status?.state === "failed" || status?.state === "stopped";

export const nextStep = ({ state, name }) => t(state === "failed" ? "page.engine_failed_next" : "page.engine_stopped_next", { name });
