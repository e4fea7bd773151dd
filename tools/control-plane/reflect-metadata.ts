// @peculiar/x509 finds its algorithms through tsyringe, which refuses to load without the metadata
// part of Reflect. None of the classes it resolves takes a constructor argument, so that these three
// functions, as the proposal words them for classes, are all it ever calls. Import this first.
const store = new WeakMap<object, Map<unknown, unknown>>()

function getOwnMetadata(key: unknown, target: object): unknown {
  return store.get(target)?.get(key)
}

function defineMetadata(key: unknown, value: unknown, target: object): void {
  const entries = store.get(target) ?? new Map<unknown, unknown>()
  store.set(target, entries.set(key, value))
}

function getMetadata(key: unknown, target: object): unknown {
  for (let at: object | null = target; at !== null; at = Object.getPrototypeOf(at) as object | null)
    if (store.get(at)?.has(key) === true) return getOwnMetadata(key, at)
  return undefined
}

if (!('getMetadata' in Reflect)) {
  Object.assign(Reflect, { getMetadata, getOwnMetadata, defineMetadata })
}
