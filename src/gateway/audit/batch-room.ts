// The memory of batches of agents that are under way (contract 23.1).
import { LONGEST_PARSED_BODY } from '../../serving/http/answer.ts'

/** The most bytes of batches, in all and of one cluster: some agents that send slowly don't keep others out. */
const MOST_BYTES = 8 * LONGEST_PARSED_BODY
const MOST_BYTES_OF_ONE = 2 * LONGEST_PARSED_BODY

/** Counts the bytes of batches that arrive, or wait to be recorded. */
export class BatchRoom {
  readonly #bytes = new Map<string, number>()
  #total = 0

  /** Reserves room for a batch of a cluster. @returns false = there is none */
  take(cluster: string, bytes: number): boolean {
    const ofCluster = (this.#bytes.get(cluster) ?? 0) + bytes
    if (ofCluster > MOST_BYTES_OF_ONE || this.#total + bytes > MOST_BYTES) return false
    this.#bytes.set(cluster, ofCluster)
    this.#total += bytes
    return true
  }

  /** Gives the room of a batch back. */
  give(cluster: string, bytes: number): void {
    const left = (this.#bytes.get(cluster) ?? 0) - bytes
    if (left > 0) this.#bytes.set(cluster, left)
    else this.#bytes.delete(cluster)
    this.#total -= bytes
  }
}
