// What a reader does with chats. Every command answers with the whole chat; growth comes as news.
import { api } from "./api.js";
import { listen, watch } from "./events.js";
import { go, onPlace } from "./places.js";
import { store } from "./store.js";
import { t } from "./texts.js";
import { emptyTray, putBack, ready, sendable, takeOut } from "./tray_store.js";

const LIST_PAUSE_MS = 150; // several changes come together
let listTimer = 0;

export function begin() {
  onPlace((place) => {
    store.set({ place });
    if (place.name === "chat" && place.id !== (store.state.chat?.id ?? "")) open(place.id);
  });
  listen({
    open: () => Promise.all([readList(), readStatus()]),
    chats: () => (clearTimeout(listTimer), (listTimer = setTimeout(readList, LIST_PAUSE_MS))),
    chat: ({ chat }) => chat.id === store.state.place.id && take(chat),
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
    go({ name: "chat", id: "" });
    store.set({ problem: error });
  }
}

// A command's answer may be overtaken by the news, which has the same and what has grown since.
function show(chat) {
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

const changed = (method, path, body) => guarded(async () => show(await api(method, path, body)));
const here = (rest) => `chats/${store.state.chat.id}/${rest}`;

export const newChat = () => {
  store.set({ editing: null });
  go({ name: "chat", id: "" });
};

// Sends what stands in the box. `policy` is what the reader just said about a new picture; `taken` is called when the box
// is free for the next question, which may be long before the server has answered. False: nothing was sent, undefined: it failed.
export const send = guarded(async (text, taken, policy = store.state.settings.new_picture) => {
  if (!sendable(text)) return false;
  await ready();
  const { chat, pictures } = store.state;
  if (policy === "ask" && pictures.length && chat?.turns.some((turn) => turn.sent && turn.answer)) {
    store.set({ asksPicture: true });
    return false;
  }
  const id = chat?.id ?? (await begun());
  const body = { text, pictures: pictures.map(({ picture }) => picture.id), new_picture: policy === "keep" ? "keep" : "start_over" };
  store.set({ asksPicture: false });
  taken();
  takeOut(pictures);
  try {
    show(await api("POST", `chats/${id}/messages`, body));
  } catch (error) {
    putBack(pictures);
    throw error;
  }
  return true;
});

async function begun() {
  const chat = await api("POST", "chats");
  store.set({ chat, place: { name: "chat", id: chat.id } });
  watch(chat.id);
  go({ name: "chat", id: chat.id });
  return chat.id;
}

export const edit = guarded(async (turn, text, pictures) => {
  show(await api("POST", here("edit"), { turn, text, pictures }));
  store.set({ editing: null });
  return true;
});

export const again = (withEarlier = false) => changed("POST", here("again"), { with_earlier: withEarlier })();
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
  await api("DELETE", `chats/${id}`);
  if (store.state.place.id === id) newChat();
  await readList();
});

export const removeAll = guarded(async () => {
  await api("DELETE", "chats");
  newChat();
  await readList();
});

export const choose = guarded(async (wishes) => store.set({ settings: await api("PUT", "settings", wishes) }));
