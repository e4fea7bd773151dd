// Looking up what tokens do not say, by an access token: JSON, in pages (contract 25.6 "Outgoing calls").
import type { JsonMap } from '../../domain/json/json.ts'
import { SignInRefused } from '../../domain/signin/refusals.ts'
import { groupsUnreadable, MOST_GROUPS } from './groups.ts'
import { boundedJsonMap } from './answers.ts'
import type { Outgoing } from './outgoing.ts'

/** A question to a server of the provider; a POST where it has a body. */
interface LookUp {
  readonly url: string
  /** Secret. */
  readonly accessToken: string
  /** null = a GET. */
  readonly body: JsonMap | null
}

/** Asks once. @throws SignInRefused as the way out does, and `provider_answer` for other than 200 with a JSON object */
export async function lookUp(
  { url, accessToken, body }: LookUp,
  send: Outgoing,
  signal: AbortSignal,
): Promise<JsonMap> {
  const headers = {
    accept: 'application/json',
    authorization: `Bearer ${accessToken}`,
    ...(body === null ? {} : { 'content-type': 'application/json' }),
  }
  const sent = body === null ? null : Buffer.from(JSON.stringify(body))
  const answer = await send({ url, headers, body: sent }, signal)
  if (answer.status !== 200)
    throw new SignInRefused('provider_answer', `the provider answered ${answer.status}`)
  const found = boundedJsonMap(answer.body)
  if (found === null)
    throw new SignInRefused('provider_answer', 'the answer must be a JSON object within the bounds')
  return found
}

/** A page of a list. */
export interface ProviderPage<T> {
  readonly entries: readonly T[]
  /** URL of the next page; null = this is the last one. */
  readonly next: string | null
}

const MOST_PAGES = 20

const groupListRefused = (because: string): SignInRefused => groupsUnreadable(`the list ${because}`)

/**
 * The entries of all pages.
 *
 * @param refused gets a clause about the list; absent = `groups_unreadable`
 * @throws SignInRefused for more than 20 pages or 5,000 entries and for a page of another origin
 */
export async function everyPage<T>(
  first: string,
  read: (url: string) => Promise<ProviderPage<T>>,
  refused = groupListRefused,
): Promise<readonly T[]> {
  const found: T[] = []
  let url: string | null = first
  for (let pages = 0; url !== null; pages += 1) {
    if (pages === MOST_PAGES) throw refused(`has more than ${MOST_PAGES} pages`)
    if (URL.parse(url)?.origin !== new URL(first).origin)
      throw groupsUnreadable('a page of the list is at another origin')
    const { entries, next }: ProviderPage<T> = await read(url)
    found.push(...entries)
    if (found.length > MOST_GROUPS) throw refused(`has more than ${MOST_GROUPS} entries`)
    url = next
  }
  return found
}
