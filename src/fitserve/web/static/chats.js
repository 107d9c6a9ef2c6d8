// What a reader does with chats. Every command answers with the whole chat; growth comes as news.
import { api, Refused } from "./api.js";
import { isDown, nextStep } from "./down.js";
import { arrived, comeBack, leave, restoreLeaving } from "./draft.js";
import { listen, watch, watching } from "./events.js";
import { go, onPlace } from "./places.js";
import { store } from "./store.js";
import { t } from "./texts.js";
import { emptyTray, ready, sendable } from "./tray_store.js";

const LIST_PAUSE_MS = 150; // several changes come together
let listTimer = 0;
let opening = Promise.resolve(); // the chat of the place where the reader is
let sending = false;
let last = Promise.resolve(); // command

export function begin() {
  onPlace((place) => {
    store.set({ place });
    if (place.name === "chat" && !watching(place.id)) opening = open(place.id);
  });
  opening.then(() => restoreLeaving(store.state.chat));
  listen({
    open: () => Promise.all([readList(), readStatus()]),
    chats: () => (clearTimeout(listTimer), (listTimer = setTimeout(readList, LIST_PAUSE_MS))),
    chat: ({ chat }) => watching(chat.id) && take(chat),
    gone: ({ id, problem }) => watching(id) && leaveGone(problem),
    answer: grow,
    status: ({ status }) => store.set({ status }),
  });
  guarded(async () => store.set({ settings: await api("GET", "settings") }))();
}

// Failures of a command are shown beside the question, and never thrown away.
export function guarded(action) {
  return async (...values) => {
    store.set({ problem: null });
    try {
      return await action(...values);
    } catch (error) {
      store.set({ problem: { code: error.code, message: error.message, evidence: error.evidence ?? "", next: error.next ?? "" } });
      return undefined;
    }
  };
}

// Where it is known that nobody will answer, a question is not sent: it stays where it was written.
function engineIsThere() {
  const { status } = store.state;
  if (isDown(status)) throw new Refused({ code: "engine_down", message: t("page.engine_down", { state: status.state_text }), evidence: status.reason ?? "", next: nextStep(status) });
}

async function readList() {
  const { chats } = await api("GET", "chats").catch(() => ({ chats: store.state.chats }));
  store.set({ chats });
}

async function readStatus() {
  const status = await api("GET", "status").catch(() => null);
  if (status) store.set({ status });
}

async function open(id) {
  watch(id);
  store.set({ chat: null, editing: null, asksPicture: false, problem: null });
  if (!id) return;
  try {
    show(await api("GET", `chats/${id}`));
  } catch (error) {
    if (watching(id)) leaveGone(error);
  }
}

function leaveGone(problem) {
  if (store.state.place.name === "chat") go({ name: "chat", id: "" });
  else open("");
  store.set({ problem });
}

// A command's answer may be overtaken by the news, which has the same and what has grown since; or by the reader, who
// shows another chat by now.
function show(chat) {
  if (!watching(chat.id)) return;
  const before = store.state.chat;
  if (before?.id !== chat.id || before.version < chat.version) take(chat);
}

function take(chat) {
  const before = store.state.chat;
  if (before?.id === chat.id && before.answering && !chat.answering) announce(chat);
  store.set({ chat: keepingTurns(before, chat) });
}

// A turn that did not change stays the same object: what is drawn of it stays too.
function keepingTurns(before, chat) {
  if (before?.id !== chat.id) return chat;
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  return { ...chat, turns: chat.turns.map((turn, at) => (same(turn, before.turns[at]) ? before.turns[at] : turn)) };
}

function grow({ id, turn, text_at, text, thinking_at, thinking }) {
  const { chat } = store.state;
  const old = chat?.id === id ? chat.turns[turn] : null;
  if (!old) return;
  if (text_at > old.answer.length || thinking_at > old.thinking.length) return watch(id); // something was missed
  const grown = { ...old, answer: old.answer.slice(0, text_at) + text, thinking: old.thinking.slice(0, thinking_at) + thinking };
  store.set({ chat: { ...chat, turns: chat.turns.with(turn, grown) } });
}

function announce(chat) {
  const last = chat.turns.at(-1);
  const said = [last?.answer, chat.problem?.message, ...chat.notices].filter(Boolean).join("\n");
  store.set({ announced: said || t("page.stopped") });
}

// Commands that change a chat reach the server in the order in which they were given: connections keep none.
const inOrder = (...command) => (last = last.catch(() => {}).then(() => api(...command)));
const changed = (method, path, body) => guarded(async () => show(await inOrder(method, path, body)));
const here = (rest) => `chats/${store.state.chat.id}/${rest}`;

export const newChat = () => {
  store.set({ editing: null });
  go({ name: "chat", id: "" });
};

// Sends what stands in the box. `policy` is what the reader just said about a new picture.
export async function send(policy) {
  if (sending || store.state.chat?.answering || !sendable()) return;
  sending = true;
  await ask(policy);
  sending = false;
}

const ask = guarded(async (policy = store.state.settings.new_picture) => {
  const { draft, place } = store.state;
  await Promise.all([opening, ready()]);
  const { chat, pictures } = store.state;
  if (store.state.place.id !== place.id) return; // the reader has gone on: it stays in the box
  engineIsThere();
  if (policy === "ask" && pictures.length && chat?.turns.some((turn) => turn.sent && turn.answer)) {
    store.set({ asksPicture: true });
    return;
  }
  const body = { text: draft, pictures: pictures.map(({ picture }) => picture.id), new_picture: policy === "keep" ? "keep" : "start_over" };
  store.set({ asksPicture: false });
  leave(draft, pictures);
  try {
    const id = chat?.id ?? (await begun());
    show(await inOrder("POST", `chats/${id}/messages`, body));
    arrived();
  } catch (error) {
    comeBack(draft, pictures);
    throw error;
  }
});

async function begun() {
  const { place } = store.state;
  const chat = await api("POST", "chats");
  if (store.state.place !== place) return chat.id; // it is answered where it was asked
  store.set({ chat, place: { name: "chat", id: chat.id } });
  watch(chat.id);
  go({ name: "chat", id: chat.id });
  return chat.id;
}

export const edit = guarded(async (turn, text, pictures) => {
  engineIsThere();
  show(await inOrder("POST", here("edit"), { turn, text, pictures }));
  store.set({ editing: null });
  return true;
});

export const again = guarded(async (withEarlier = false) => {
  engineIsThere();
  show(await inOrder("POST", here("again"), { with_earlier: withEarlier }));
});
export const stop = () => changed("POST", here("stop"))();
export const undo = () => changed("POST", here("undo"))();
export const startAt = (turn) => changed("POST", here("since"), { turn })();

export const clear = () => {
  const { chat } = store.state;
  emptyTray();
  if (!chat?.turns.length) return;
  startAt(chat.turns.length);
  store.set({ announced: t("page.cleared") });
};

export const rename = (id, title) => guarded(async () => { await api("PATCH", `chats/${id}`, { title }); await readList(); })();

export const remove = guarded(async (id) => {
  if (store.state.place.id === id) newChat();
  await api("DELETE", `chats/${id}`);
  await readList();
});

export const removeAll = guarded(async () => {
  newChat();
  await api("DELETE", "chats");
  await readList();
});

export const choose = guarded(async (wishes) => store.set({ settings: await api("PUT", "settings", wishes) }));
