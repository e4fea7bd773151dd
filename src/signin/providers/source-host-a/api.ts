// Questions to the API of GitHub about the person whose token it is.
import { isList, isMap, type JsonMap } from '../../../domain/json/json.ts'
import { GrantEnded, type SignInReason, SignInRefused } from '../../../domain/signin/refusals.ts'
import { boundedJson, boundedJsonMap } from '../answers.ts'
import { everyPage, type ProviderPage } from '../look-up.ts'
import type { OutgoingAnswer } from '../outgoing.ts'
import { nextPage } from './pages.ts'
import type { SourceHostASetup } from './setup.ts'

/** The form of the answers, as GitHub advises to name it. */
const API_HEADERS = {
  accept: 'application/vnd.github+json',
  'x-github-api-version': '2022-11-28',
}

/** The right to ask for one person. */
export interface PersonAccess {
  readonly setup: SourceHostASetup
  /** Secret. */
  readonly accessToken: string
  readonly signal: AbortSignal
}

/** The object at a path of the API. @throws SignInRefused, GrantEnded where the token has ended */
export async function readObject(access: PersonAccess, path: string): Promise<JsonMap> {
  const answer = await ask(access, `${access.setup.addresses.api}${path}`, path)
  const value = boundedJsonMap(answer.body)
  if (value === null)
    throw new SignInRefused('provider_answer', `${path} must be a JSON object within the bounds`)
  return value
}

/** The largest page that GitHub offers. */
const PAGE = 'per_page=100'

/** A list of the API. */
export interface HostList<Entry> {
  readonly path: string
  /**
   * The reason of the refusal where the list can't be read to its end: half a list is none. A server that is away is
   * `provider_unreachable` beside `provider_answer`; a token that has ended is so for every list.
   */
  readonly unreadable: SignInReason
  /** What is kept of an entry, as pages are large. @throws SignInRefused for an entry of another form */
  readonly entryOf: (entry: JsonMap) => Entry
}

/**
 * Every entry of a list, over all its pages.
 *
 * @throws SignInRefused with the reason `unreadable`, also for an answer that does not come or is not a list of objects, and
 *   for more than 20 pages or 5,000 entries; GrantEnded where the token has ended
 */
export async function readList<Entry>(
  access: PersonAccess,
  { path, unreadable, entryOf }: HostList<Entry>,
): Promise<readonly Entry[]> {
  const fault = (because: string): SignInRefused =>
    new SignInRefused(unreadable, `${path} ${because}`)
  const isOfList = (error: SignInRefused): boolean =>
    unreadable !== 'provider_answer' &&
    error.reason !== 'provider_unusable' &&
    !(error instanceof GrantEnded)
  const pageAt = async (url: string): Promise<ProviderPage<Entry>> => {
    const { body, link } = await ask(access, url, path).catch((error: SignInRefused) => {
      throw isOfList(error) ? new SignInRefused(unreadable, error.because) : error
    })
    const entries = boundedJson(body)
    if (!isList(entries) || !entries.every(isMap)) throw fault('must be a list of objects')
    const next = nextPage(link, url)
    if (next.kind === 'elsewhere') throw fault('goes on at another server')
    return { entries: entries.map(entryOf), next: next.kind === 'page' ? next.url : null }
  }
  return everyPage(`${access.setup.addresses.api}${path}?${PAGE}`, pageAt, fault)
}

/** @param path names the question in the refusal */
async function ask(
  { setup, accessToken, signal }: PersonAccess,
  url: string,
  path: string,
): Promise<OutgoingAnswer> {
  const headers = { ...API_HEADERS, authorization: `Bearer ${accessToken}` }
  const answer = await setup.send({ url, headers, body: null }, signal)
  if (answer.status === 200) return answer
  if (answer.status === 401) throw new GrantEnded(`${path} was answered 401`)
  // 403 also where too much was asked, or the token lacks a scope.
  throw new SignInRefused('provider_answer', `${path} was answered ${answer.status}`)
}

/**
 * Tries whether the API answers, without a person. Of what can be asked without a token, the limits alone count against no
 * limit; a server without limits answers 404, one that is closed to strangers 401.
 *
 * @throws SignInRefused when it does not answer, or another program does
 */
export async function tryApi(
  { addresses, send }: SourceHostASetup,
  signal: AbortSignal,
): Promise<void> {
  const url = `${addresses.api}/rate_limit`
  const { body } = await send({ url, headers: API_HEADERS, body: null }, signal)
  if (boundedJsonMap(body) === null)
    throw new SignInRefused('provider_answer', 'the API does not answer in JSON')
}
