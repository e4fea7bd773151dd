// What the command line asks of the platform: a key for a code, whose key it is, and the key's end.
import { ACCESS_KEYS, ACCESS_KEY_EXTRA, MANAGEMENT_PATH } from '../../api/names.ts'
import { fieldsOf, parseJson, parseJsonMap, stringOf, stringsOf } from '../../domain/json/json.ts'
import { teamIn } from '../../domain/people/team.ts'
import { hideCredentials } from '../../domain/redaction/credentials.ts'
import { parseTimestamp } from '../../domain/time.ts'
import { pathOf } from '../../kube/client/client.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { type SendHttps, SELF_REVIEW_PATH, selfReviewCall, userInfoIn } from '../shared/https.ts'
import { messageOf, visible } from '../shared/terminal-text.ts'
import { type SignIn, isAccessKey } from './sign-ins-file.ts'

/** A platform, and the way there. */
export interface Platform {
  /** Its origin. */
  readonly url: string
  readonly send: SendHttps
}

/** Who a key acts as. */
interface KeyIdentity {
  readonly user: string
  readonly teams: readonly string[]
  /** Name of the key; null = the platform did not say. */
  readonly keyName: string | null
}

/** The platform makes the key, and reads it back, before it answers. */
const REDEEM_WITHIN_SECONDS = 30

/**
 * The key for a code (contract 25.2).
 *
 * @throws Error with the words of the platform
 */
export async function redeem(
  platform: Platform,
  { code, verifier }: { readonly code: string; readonly verifier: string },
): Promise<Omit<SignIn, 'ca'>> {
  const { status, body } = await ask(platform, '/auth/cli/token', {
    method: 'POST',
    body: JSON.stringify({ code, code_verifier: verifier }),
    withinSeconds: REDEEM_WITHIN_SECONDS,
  })
  if (status !== 200) throw refusalOf(status, body)
  const { accessKey, expirationTimestamp = null } = parseJsonMap(body) ?? {}
  const isEnd = expirationTimestamp === null || parseTimestamp(expirationTimestamp) !== null
  if (!isAccessKey(accessKey) || !isEnd) throw new Error('the platform answers without a key')
  return { accessKey, expirationTimestamp: expirationTimestamp as string | null }
}

/** Who the key acts as; null = the platform refuses the key. @throws Error with the words of the platform */
export async function identityOf(
  platform: Platform,
  accessKey: string,
): Promise<KeyIdentity | null> {
  const { status, body } = await ask(platform, SELF_REVIEW_PATH, selfReviewCall(accessKey))
  if (status === 401) return null
  if (status !== 201) throw refusalOf(status, body)
  const { username, groups, extra } = userInfoIn(body)
  const teams = (stringsOf(groups) ?? []).map(teamIn).filter((team) => team !== null)
  const [keyName = null] = stringsOf(fieldsOf(extra)[ACCESS_KEY_EXTRA]) ?? []
  return { user: stringOf(username) ?? '', teams, keyName }
}

const NEW_FOR_MS = 2000
const PAUSE_MS = 100

/** The same for a key that was just made: another replica of the gateway may not have seen it yet (contract 27.2). */
export async function identityOfNew(
  platform: Platform,
  accessKey: string,
  clock: Clock,
): Promise<KeyIdentity | null> {
  const untilMs = clock.monotonicMs() + NEW_FOR_MS
  for (;;) {
    const identity = await identityOf(platform, accessKey)
    if (identity !== null || clock.monotonicMs() >= untilMs) return identity
    await sleep(clock, PAUSE_MS, NEVER_ABORTED)
  }
}

const NEVER_ABORTED = new AbortController().signal

/** Deletes the key by itself (contract 12.1); also returns when it is gone already. @throws Error as `redeem` does */
export async function endKey(platform: Platform, accessKey: string, name: string): Promise<void> {
  const path = `${MANAGEMENT_PATH}${pathOf(ACCESS_KEYS, { name })}`
  const { status, body } = await ask(platform, path, { method: 'DELETE', bearer: accessKey })
  if (![200, 202, 401, 404].includes(status)) throw refusalOf(status, body)
}

async function ask({ url, send }: Platform, path: string, call: Parameters<SendHttps>[1]) {
  try {
    return await send(`${url}${path}`, call)
  } catch (error) {
    throw new Error(`${url} does not answer: ${messageOf(error)}`, { cause: error })
  }
}

const LONGEST_MESSAGE = 500

/** The message of a Status, as far as a terminal can show it. */
function refusalOf(status: number, body: string): Error {
  const message = stringOf(fieldsOf(parseJson(body))['message']) ?? ''
  const words = visible(hideCredentials(message.slice(0, LONGEST_MESSAGE)))
  return new Error(words === '' ? `the platform answers ${status}` : words)
}
