// The groups of people in the directory of Google, which a service account reads for an administrator (contract 25.6).
import type { IdpAProvider } from '../../../api/config.gen.ts'
import { isMap, type Json, type JsonMap } from '../../../domain/json/json.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { currentMoment, type Moment, msBetween } from '../../../runtime/clock.ts'
import { shownName } from '../answers.ts'
import { readProviderFile } from '../files.ts'
import { groupsUnreadable, lookingUpGroups } from '../groups.ts'
import { everyPage, type ProviderPage, lookUp } from '../look-up.ts'
import { createOutgoing, type Outgoing } from '../outgoing.ts'
import type { ProviderGroupName, ProviderOptions } from '../provider.ts'
import { obtainToken, type ServiceToken, serviceAccountIn } from './service-account.ts'

const SCOPE = 'https://www.googleapis.com/auth/admin.directory.group.readonly'
/** A token is replaced so long before its end. */
const AHEAD_MS = 60_000
/** The largest page that the directory gives. */
const PAGE_SIZE = '200'

/** The directory, by its service account. */
export interface Directory {
  /** The groups that have the address as a member, by their addresses. @throws SignInRefused */
  readonly groupsOf: (email: string, signal: AbortSignal) => Promise<readonly ProviderGroupName[]>
  /** Reads the file and obtains a token, where none is kept. @throws SignInRefused */
  readonly connect: (signal: AbortSignal) => Promise<void>
}

/** Creates the way to the directory; nothing is read until it is needed. */
export function createDirectory(options: ProviderOptions<IdpAProvider>): Directory {
  const { addresses, resolve, clock } = options
  const send = createOutgoing({ configured: new URL(addresses.idpADirectory), resolve, clock })
  const tokens = createTokens(options, send)
  return {
    groupsOf: (email, signal) =>
      lookingUpGroups(async () => {
        const accessToken = await tokens.current(signal)
        try {
          return await everyPage(firstPage(addresses.idpADirectory, email), async (url) =>
            pageOf(url, await lookUp({ url, accessToken, body: null }, send, signal)),
          )
        } catch (error) {
          tokens.forget()
          throw error
        }
      }),
    connect: async (signal) => void (await tokens.current(signal)),
  }
}

function firstPage(base: string, email: string): string {
  const query = new URLSearchParams({ userKey: email, maxResults: PAGE_SIZE })
  return `${base}/admin/directory/v1/groups?${query.toString()}`
}

/** A page of groups. Without groups, the field is absent. */
function pageOf(url: string, answer: JsonMap): ProviderPage<ProviderGroupName> {
  const { kind, groups = [], nextPageToken } = answer
  if (kind !== 'admin#directory#groups' || !Array.isArray(groups))
    throw groupsUnreadable('an answer of the directory has another form')
  const next = new URL(url)
  if (typeof nextPageToken === 'string') next.searchParams.set('pageToken', nextPageToken)
  return { entries: groups.map(groupIn), next: nextPageToken === undefined ? null : next.href }
}

const LONGEST_NAME = 256

function groupIn(entry: Json): ProviderGroupName {
  const { email, name } = isMap(entry) ? entry : {}
  if (typeof email !== 'string' || email === '' || email.length > LONGEST_NAME)
    throw groupsUnreadable('a group of the directory has no usable address')
  return { name: email, displayName: shownName(name) }
}

/** The tokens of the service account: one is kept while the file stays as it is, until shortly before its end. */
function createTokens(
  { settings, filesDir, clock }: ProviderOptions<IdpAProvider>,
  send: Outgoing,
) {
  const field = 'serviceAccountFilePath'
  const { serviceAccountFilePath: path = '', adminEmail: subject = '' } = settings
  let kept: KeptToken | null = null
  return {
    current: async (signal: AbortSignal): Promise<string> => {
      const file = await readProviderFile({ field, path }, filesDir)
      const now = currentMoment(clock)
      if (kept?.file === file && msBetween(kept.at, now) < kept.token.lifetimeMs - AHEAD_MS)
        return kept.token.accessToken
      const account = await serviceAccountIn(file)
      if (typeof account === 'string')
        throw new SignInRefused('provider_unusable', `${field} ${path} ${account}`, {
          detail: field,
        })
      const request = { account, subject, scope: SCOPE, nowMs: clock.nowMs() }
      kept = { file, token: await obtainToken(request, send, signal), at: now }
      return kept.token.accessToken
    },
    forget: (): void => {
      kept = null
    },
  }
}

/** A token that is kept, of the file with this text. */
interface KeptToken {
  readonly file: string
  readonly token: ServiceToken
  readonly at: Moment
}
