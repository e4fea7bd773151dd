// Programs that read the Secrets of claims as files are read, and call a gateway with what they have read, without pause.
import { Agent } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import { SECRETS } from '../../../src/api/names.ts'
import type { Secret } from '../../../src/api/objects.ts'
import {
  type TimedAnswer,
  UPSTREAM_PATH,
  askTimed,
  isAccepted,
} from '../../cluster/gateway/timed-requests.ts'
import type { TestGateway } from '../../cluster/gateway/test-gateway.ts'
import { keyIn } from './stored-claims.ts'

/** Answers to the calls with one Secret. */
export interface ReaderCall {
  /** Name of the Secret. */
  readonly secret: string
  /** Epoch milliseconds. */
  readonly sentMs: number
  readonly code: number
  readonly body: string
}

/** A reader of all Secrets of a namespace. `await using` stops it at the end of the block. */
export interface SecretReader extends AsyncDisposable {
  /** How many calls were answered. */
  readonly calls: () => number
  /** How many different keys were used. */
  readonly keys: () => number
  /** The calls that were not accepted, in order. */
  readonly refused: readonly ReaderCall[]
}

const LIST_LIMIT = 10_000

/** Reads the Secrets every `everyMs`, keeps what one had when it is gone, and calls with each in turn. */
export function readSecrets(
  setup: TestGateway,
  { namespace, everyMs }: { readonly namespace: string; readonly everyMs: number },
): SecretReader {
  const files = new Map<string, string>()
  const used = new Set<string>()
  const refused: ReaderCall[] = []
  const state = { calls: 0 }
  const stopped = new AbortController()
  const agent = new Agent({ keepAlive: true, ca: setup.ca })
  const [gateway] = setup.gateways
  if (gateway === undefined) throw new Error('there is no gateway')
  const reading = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const { items } = await setup.plane.admin.list(SECRETS, { namespace }, LIST_LIMIT)
      for (const secret of items) {
        const key = keyIn(secret as Secret)
        if (key !== '') files.set(secret.metadata.name, key)
      }
      await delay(everyMs)
    }
  }
  const call = async (secret: string, key: string): Promise<void> => {
    const answer: TimedAnswer = await askTimed(setup, gateway, key, UPSTREAM_PATH, agent)
    state.calls += 1
    used.add(key)
    const { sentMs, code, body } = answer
    if (!isAccepted(answer)) refused.push({ secret, sentMs, code, body })
  }
  const calling = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      for (const [secret, key] of files) await call(secret, key)
      // Lets timers run, and waits for the first Secret.
      await delay(1)
    }
  }
  const both = Promise.all([reading(), calling()])
  return {
    calls: () => state.calls,
    keys: () => used.size,
    refused,
    [Symbol.asyncDispose]: async () => {
      stopped.abort()
      await both
      agent.destroy()
    },
  }
}
