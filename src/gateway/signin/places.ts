// Limits the requests that are under way at the sign-in process (contract 25.1). They need no credential, so whoever holds
// places by sending slowly must not keep others out: such a request gives way.

/** Maximum requests under way, of all clients together. */
export const MOST_UNDER_WAY = 100

/** The place of one request. */
export interface SignInPlace {
  /** The body of the request has arrived whole: it does not give way any more. */
  readonly bodyArrived: () => void
  /** Frees the place; later calls do nothing. */
  readonly release: () => void
}

/** A request whose client is still sending. */
interface Holder {
  /** Ends the request, which must release its place at once. null = it does not give way. */
  giveWay: (() => void) | null
}

/** The places at this replica. */
export class Places {
  /** In the order of their arrival. */
  readonly #holders = new Set<Holder>()

  /**
   * Takes a place. If there is none left, the request that has waited longest for its body gives way.
   *
   * @param giveWay ends this request; null = it has no body to wait for
   * @returns null = requests whose bodies have arrived hold all places
   */
  take(giveWay: (() => void) | null): SignInPlace | null {
    if (this.#holders.size >= MOST_UNDER_WAY) this.#slowest()?.()
    if (this.#holders.size >= MOST_UNDER_WAY) return null
    const holder: Holder = { giveWay }
    this.#holders.add(holder)
    return {
      bodyArrived: () => {
        holder.giveWay = null
      },
      release: () => void this.#holders.delete(holder),
    }
  }

  #slowest(): (() => void) | null {
    for (const { giveWay } of this.#holders) if (giveWay !== null) return giveWay
    return null
  }
}
