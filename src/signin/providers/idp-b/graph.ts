// What the directory of Microsoft (Graph) says of the person whose access token asks (contract 25.6).
import { isMap, type Json, type JsonMap, ownValue } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { shownName } from '../answers.ts'
import { groupsUnreadable } from '../groups.ts'
import { everyPage, type ProviderPage, lookUp } from '../look-up.ts'
import type { Outgoing } from '../outgoing.ts'
import { isGuid } from './tenant.ts'

/** The directory, as the person. */
export interface Graph {
  /** Without a slash at its end. */
  readonly base: string
  /** Of the person. Secret. */
  readonly accessToken: string
  readonly send: Outgoing
  readonly signal: AbortSignal
}

const ask = (
  { accessToken, send, signal }: Graph,
  url: string,
  body: JsonMap | null,
): Promise<JsonMap> => lookUp({ url, accessToken, body }, send, signal)

/** The person. */
interface GraphPerson {
  readonly id: string
  /** The name in the directory; null = there is none. */
  readonly userPrincipalName: string | null
}

/** Who asks. @throws SignInRefused */
export async function graphPerson(graph: Graph): Promise<GraphPerson> {
  const answer = await ask(graph, `${graph.base}/v1.0/me?$select=id,userPrincipalName`, null)
  const { id, userPrincipalName } = answer
  if (typeof id !== 'string')
    throw new SignInRefused('provider_answer', 'Graph does not say who the person is')
  const hasName = typeof userPrincipalName === 'string' && userPrincipalName !== ''
  return { id, userPrincipalName: hasName ? userPrincipalName : null }
}

/** The ids of the groups that the person is in, directly or through others. @throws SignInRefused */
export async function graphGroups(
  graph: Graph,
  { onlySecurityGroups }: { readonly onlySecurityGroups: boolean },
): Promise<readonly string[]> {
  const body = { securityEnabledOnly: onlySecurityGroups }
  const ids = await everyPage(`${graph.base}/v1.0/me/getMemberGroups`, async (url) =>
    groupPage(await ask(graph, url, body)),
  )
  return [...new Set(ids)]
}

function groupPage(answer: JsonMap): ProviderPage<string> {
  const { value } = answer
  const next = ownValue(answer, '@odata.nextLink') ?? null
  if (!Array.isArray(value) || !value.every(isGuid) || (next !== null && typeof next !== 'string'))
    throw groupsUnreadable('an answer of Graph has another form')
  return { entries: value, next }
}

/** Groups whose names are asked for at once: a group has 1 KB or more where Graph selects no fields. */
const NAMED_AT_ONCE = 250

/**
 * The names of groups, by their ids. They are for people alone: where Graph does not tell them, as it does without a
 * permission, the sign-in goes on without.
 */
export async function graphNames(
  graph: Graph,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  const url = `${graph.base}/v1.0/directoryObjects/getByIds?$select=id,displayName`
  try {
    for (let at = 0; at < ids.length; at += NAMED_AT_ONCE) {
      const body = { ids: ids.slice(at, at + NAMED_AT_ONCE), types: ['group'] }
      const { value } = await ask(graph, url, body)
      for (const entry of Array.isArray(value) ? value : []) addName(names, entry)
    }
  } catch (error) {
    if (!(error instanceof SignInRefused)) throw error
  }
  return names
}

function addName(names: Map<string, string>, entry: Json): void {
  const { id, displayName } = isMap(entry) ? entry : {}
  const shown = shownName(displayName)
  if (typeof id === 'string' && shown !== null) names.set(id, shown)
}
