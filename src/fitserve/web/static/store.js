// The page's state: one object, replaced piece by piece; components that use it are drawn again.
import { useEffect, useState } from "./view.js";

export const narrow = () => matchMedia("(max-width: 55.99rem)").matches;

export const store = {
  state: {
    chats: [], // the list, the latest first
    chat: null, // the one that is open, as the server tells it; null: a new one
    place: { name: "chat", id: "" },
    settings: { history: true, new_picture: "ask" },
    status: null, // of the engine
    connected: true,
    drawer: !narrow(), // the list of chats is open
    draft: "", // what stands in the box
    pictures: [], // in the tray: {key, file, name, state, picture, problem}
    asksPicture: false, // «new topic or compare» is being asked
    editing: null, // {turn, before} while an earlier question is changed
    problem: null, // of the last command
    announced: "", // for a screen reader
  },

  set(changes) {
    this.state = { ...this.state, ...changes };
    if (!waiting) {
      waiting = true;
      queueMicrotask(tell);
    }
  },
};

const listeners = new Set();
let waiting = false;

function tell() {
  waiting = false;
  for (const listener of listeners) listener(store.state);
}

export function useStore() {
  const [state, setState] = useState(store.state);
  useEffect(() => {
    listeners.add(setState);
    setState(store.state);
    return () => listeners.delete(setState);
  }, []);
  return state;
}
