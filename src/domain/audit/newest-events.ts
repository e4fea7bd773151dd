// The newest events of many that are read in any order, each once, within a bound of memory (contract 22.4).
import type { EventFields } from './event-fields.ts'

/** How much is kept at most. */
interface NewestEventsBounds {
  readonly count: number
  /** Of UTF-16 units of their texts; the newest event is kept whatever its length. */
  readonly characters: number
}

interface KeptEvent {
  readonly stageTimeMs: number
  readonly identity: string
  readonly text: string
}

/** Collects events, and keeps the newest. Of two with the same stage time the one that was added later counts as newer. */
export class NewestEvents {
  readonly #bounds: NewestEventsBounds
  /** By stage time, the oldest first. */
  readonly #kept: KeptEvent[] = []
  readonly #identities = new Set<string>()
  #characters = 0
  #hasDropped = false

  constructor(bounds: NewestEventsBounds) {
    this.#bounds = bounds
  }

  /** Whether an event was left out for want of room. */
  get hasDropped(): boolean {
    return this.#hasDropped
  }

  /** Events with an earlier stage time find no room any more; null = there is room. */
  get earliestMs(): number | null {
    return this.#hasDropped ? (this.#kept[0]?.stageTimeMs ?? null) : null
  }

  /** Adds an event; the same event of the same source is added once. @param text its JSON, asked for if there is room */
  add(fields: EventFields, text: () => string): void {
    const { stageTimeMs, source, auditID, stage } = fields
    const identity = JSON.stringify([source, auditID, stage])
    if (this.#identities.has(identity)) return
    const isFull = this.#kept.length >= this.#bounds.count
    const oldest = this.#kept[0]
    if (oldest !== undefined && (isFull || this.#hasDropped) && stageTimeMs < oldest.stageTimeMs) {
      this.#hasDropped = true
      return
    }
    const event = { stageTimeMs, identity, text: text() }
    this.#kept.splice(this.#placeOf(stageTimeMs), 0, event)
    this.#identities.add(identity)
    this.#characters += event.text.length
    this.#dropOldest()
  }

  /** The texts, the newest first. */
  newestFirst(): readonly string[] {
    return this.#kept.map(({ text }) => text).toReversed()
  }

  /** Behind all events that are not newer. */
  #placeOf(stageTimeMs: number): number {
    return this.#kept.findLastIndex((one) => one.stageTimeMs <= stageTimeMs) + 1
  }

  #dropOldest(): void {
    const { count, characters } = this.#bounds
    while (this.#kept.length > 1 && (this.#kept.length > count || this.#characters > characters)) {
      const dropped = this.#kept.shift()
      if (dropped === undefined) return
      this.#characters -= dropped.text.length
      this.#identities.delete(dropped.identity)
      this.#hasDropped = true
    }
  }
}
