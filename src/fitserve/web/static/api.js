// Commands to the server. A refusal is thrown as it was told: what happened, the evidence, the next step.
import { language, t } from "./texts.js";

export const tab = (sessionStorage.tab ||= [...crypto.getRandomValues(new Uint8Array(12))].map((n) => n.toString(16).padStart(2, "0")).join(""));

export class Refused extends Error {
  constructor({ code, message, evidence = "", next = "" }) {
    super(message);
    Object.assign(this, { code, evidence, next });
  }
}

export const api = (method, path, body, headers = {}) =>
  asked(method, path, body === undefined ? { headers } : { body: JSON.stringify(body), headers: { "content-type": "application/json", ...headers } });

export const upload = (file, whole, signal) =>
  asked("POST", `pictures?name=${encodeURIComponent(file.name || "picture")}&whole=${whole ? 1 : 0}`, { body: file, signal });

async function asked(method, path, { body, headers = {}, signal }) {
  let response;
  try {
    response = await fetch(`/api/${path}`, { method, body, signal, headers: { "accept-language": language, "x-tab": tab, ...headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused({ code: "server_gone", message: t("page.server_gone"), evidence: String(error), next: t("page.server_gone_next") });
  }
  if (response.status === 204) return null;
  const told = await response.json().catch(() => null);
  if (response.ok && told) return told;
  throw new Refused(told?.error ?? { code: "failed", message: t("page.server_failed"), evidence: `HTTP ${response.status}`, next: t("page.server_failed_next") });
}
