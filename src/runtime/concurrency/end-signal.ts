// Whether something is over, for those who must learn of it. An AbortSignal and its listeners take 10 µs of each request.

/** The part of an AbortSignal that every request needs. */
export interface EndSignal {
  readonly aborted: boolean
  /** The listener is called once, and not at all where it is over already. */
  addEventListener(type: 'abort', listener: () => void, options: { readonly once: true }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** A signal that its maker ends. */
export class EndSource implements EndSignal {
  #isOver = false
  #listeners: readonly (() => void)[] = []

  get aborted(): boolean {
    return this.#isOver
  }

  addEventListener(_: 'abort', listener: () => void): void {
    if (!this.#isOver) this.#listeners = [...this.#listeners, listener]
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    this.#listeners = this.#listeners.filter((one) => one !== listener)
  }

  /** Calls the listeners in their order; later calls do nothing. What one throws is thrown again once all were called. */
  end(): void {
    const listeners = this.#listeners
    this.#isOver = true
    this.#listeners = []
    for (const listener of listeners) {
      try {
        listener()
      } catch (error) {
        // As an EventTarget does.
        process.nextTick(() => {
          throw error
        })
      }
    }
  }
}

/** A constant: without a reason, each abort creates a DOMException with a stack. */
const OVER = 'the request is over'

/** The signal as an AbortSignal, for what takes no other. */
export function asAbortSignal(signal: EndSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  const controller = new AbortController()
  const abort = (): void => controller.abort(OVER)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return controller.signal
}
