/**
 * The virtual objects whose names on the host belong to another object, or were not read yet, by the keys of both. No
 * mark leads from there to them: a change must, as it may free the name, and the first read.
 */
export class AwaitedNames {
  /** Keys of host objects by those of virtual ones, of which each has one name on the host. */
  readonly #awaited = new Map<string, string>()
  readonly #waiting = new Map<string, Set<string>>()

  /** Replaces what the virtual object waits for; null = nothing. */
  set(key: string, hostKey: string | null): void {
    const before = this.#awaited.get(key)
    if (before !== undefined) this.#leave(key, before)
    if (hostKey === null) return
    this.#awaited.set(key, hostKey)
    this.#waiting.set(hostKey, (this.#waiting.get(hostKey) ?? new Set()).add(key))
  }

  /** The virtual objects that wait for the name of this host object. */
  waitingFor(hostKey: string): readonly string[] {
    return [...(this.#waiting.get(hostKey) ?? [])]
  }

  #leave(key: string, hostKey: string): void {
    this.#awaited.delete(key)
    const waiting = this.#waiting.get(hostKey)
    waiting?.delete(key)
    if (waiting?.size === 0) this.#waiting.delete(hostKey)
  }
}
