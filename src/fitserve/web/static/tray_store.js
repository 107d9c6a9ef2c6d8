// The pictures that go with the next question. Each is prepared by the server as soon as it is added.
import { upload } from "./api.js";
import { store } from "./store.js";
import { limit, t } from "./texts.js";

const KEPT = "fitserve-tray"; // prepared pictures survive a reload
const coming = new Set();
let last = 0;

export function add(files, whole = false) {
  for (const file of files) prepare({ key: ++last, file, name: file.name || t("page.picture"), state: "coming" }, whole);
}

export function remove(key) {
  const gone = store.state.pictures.find((one) => one.key === key);
  gone?.leaving?.abort();
  change(store.state.pictures.filter((one) => one.key !== key));
}

// Those that are on their way with a question; others may have been added meanwhile.
export const takeOut = (sent) => change(store.state.pictures.filter((one) => !sent.includes(one)));
export const putBack = (sent) => change([...sent, ...store.state.pictures]);

export const emptyTray = () => {
  for (const one of store.state.pictures) one.leaving?.abort();
  change([]);
};

// «Send as it is», and back.
export function whole(key, wanted) {
  const one = store.state.pictures.find((picture) => picture.key === key);
  if (one?.file) prepare({ ...one, whole: wanted, state: "coming" }, wanted);
}

export const sendable = () => {
  const { draft, pictures } = store.state;
  return (draft.trim() || pictures.length) && pictures.every((one) => one.state !== "refused");
};

// Until every picture is prepared. A refused one throws, so that nothing is sent without it.
export async function ready() {
  await Promise.all(coming);
  const refused = store.state.pictures.find((one) => one.state === "refused");
  if (refused) throw refused.problem;
}

// Prepared pictures as they stand in the tray.
export const entries = (pictures) => pictures.map((picture) => ({ key: ++last, name: picture.name, state: "ready", picture }));

export function restore() {
  try {
    change(entries(JSON.parse(sessionStorage.getItem(KEPT) || "[]")));
  } catch {
    sessionStorage.removeItem(KEPT);
  }
}

function prepare(entry, asIs) {
  if (entry.file.size > limit.bytes) { // known before it is sent: a refusal in the middle of a body is no sentence
    const most = { limit: limit.text };
    const problem = { message: t("page.body_too_large", most), next: t("page.body_too_large_next", most) };
    change([...store.state.pictures, { ...entry, state: "refused", problem }]);
    return;
  }
  const leaving = new AbortController();
  put({ ...entry, leaving });
  const task = upload(entry.file, asIs, leaving.signal)
    .then((picture) => put({ ...entry, state: "ready", picture }))
    .catch((problem) => problem.name === "AbortError" || put({ ...entry, state: "refused", problem }))
    .finally(() => coming.delete(task));
  coming.add(task);
}

function put(entry) {
  const { pictures } = store.state;
  const known = pictures.some((one) => one.key === entry.key);
  if (!known && entry.state !== "coming") return; // removed meanwhile
  change(known ? pictures.map((one) => (one.key === entry.key ? entry : one)) : [...pictures, entry]);
}

function change(pictures) {
  store.set({ pictures });
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(pictures.filter((one) => one.state === "ready").map((one) => one.picture)));
  } catch { /* storage is full or closed: then a reload forgets the tray */ }
}
