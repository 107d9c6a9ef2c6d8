// The owner's requests: with the key that was given in this tab, if any. It is kept for this tab and this server alone.
import { api, Refused } from "./api.js";
import { language, t } from "./texts.js";

const PLACE = "fitserve-owner-key";

export const ownerKey = () => sessionStorage.getItem(PLACE) ?? "";
export const forgetKey = () => sessionStorage.removeItem(PLACE);

const keyed = (key = ownerKey()) => (key ? { authorization: `Bearer ${key}` } : {});

export const owner = (method, path, body) => api(method, `owner${path}`, body, keyed());

export const deployment = (name, rest = "") => `/deployments/${encodeURIComponent(name)}${rest}`;

// Thrown: that it is not the right one, or that one has to wait.
export async function giveKey(key) {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Refused({ code: "owner_key", message: t("owner.key_wrong") });
  await api("POST", "owner/key", undefined, keyed(key));
  sessionStorage.setItem(PLACE, key);
}

// A drawing as the address of an image: in there it can run nothing.
export async function drawing(path) {
  const response = await fetch(`/api/owner${path}`, { headers: { "accept-language": language, ...keyed() } });
  if (!response.ok) throw new Refused({ code: "failed", message: t("owner.chart_failed"), evidence: `HTTP ${response.status}` });
  return URL.createObjectURL(await response.blob());
}
