// Calls to the store of secrets (contract 36.1): entries of its KV engine below one mount, and the token itself.
import {
  dataOfVersion1In,
  dataOfVersion2In,
  type EntryData,
  type EntryMetadata,
  isVersion2In,
  lookedUpTokenIn,
  metadataIn,
  renewedTokenIn,
  type KvAnswer,
  type StoreBody,
  type TokenLife,
  type WrittenVersion,
  writeFault,
  writtenIn,
} from '../../domain/store/store-answers.ts'
import { API_OF_VERSION_2 } from '../../domain/store/stored-secret.ts'
import type { Resolve } from '../../runtime/address-guard.ts'
import type { Clock } from '../../runtime/clock.ts'
import { faultOfAnswer, SecretStoreError } from './store-error.ts'
import { createStoreHttp } from './store-http.ts'

/** Settings of a client, and what it works with. */
interface StoreClientOptions {
  /** The URL of the store; https, or http for a loopback host. */
  readonly address: string
  /** The store's own namespace; empty = none. */
  readonly namespace: string
  readonly token: string
  readonly skipTLSVerify: boolean
  /** The issuers that are trusted (PEM); null = those that Node trusts. */
  readonly ca: string | null
  /** The path of the KV engine, without slashes around it. */
  readonly mount: string
  readonly resolve: Resolve
  readonly clock: Clock
  /** Called right before each write is sent. @throws NotLeaderError: nothing is sent */
  readonly mayWrite: () => void
  /** Ends all calls and connections. */
  readonly signal: AbortSignal
}

/**
 * Calls of one set of settings; a `path` is `<project>/<path>`. Each call ends within 10 seconds and throws SecretStoreError; a write
 * throws NotLeaderError, too. A write whose answer is lost may have been carried out.
 */
export interface StoreClient {
  /** The metadata of an entry of version 2; null = there is no such entry. */
  readonly readMetadata: (path: string) => Promise<EntryMetadata | null>
  /**
   * The data of an entry; null = it is missing, deleted or destroyed.
   *
   * @param engine version of the KV engine
   */
  readonly readData: (path: string, engine: 1 | 2) => Promise<EntryData | null>
  /**
   * Writes an entry of version 2 where its current version is `cas`; 0 = where there is none. Sent once, and only to a mount that
   * says to be of version 2: version 1 knows no condition, and would write below a project `data`.
   *
   * @returns the new version; `conflict` = another version is the current one
   */
  readonly writeData: (
    path: string,
    content: Readonly<Record<string, string>>,
    cas: number,
  ) => Promise<WrittenVersion | 'conflict'>
  /** Replaces the custom metadata of an entry of version 2. */
  readonly writeCustomMetadata: (
    path: string,
    custom: Readonly<Record<string, string>>,
  ) => Promise<void>
  readonly lookupToken: () => Promise<TokenLife>
  /** Renews the token for as long as it was created for. */
  readonly renewToken: () => Promise<TokenLife>
}

/** Creates a client. Settings that are unusable refuse each call, and nothing is sent. */
export function createStoreClient(options: StoreClientOptions): StoreClient {
  const { mount, clock } = options
  const http = createStoreHttp(options)
  const below = (path: string, api: string): string =>
    `${encodedPath(mount, 'mount')}/${api}${encodedPath(path, 'path')}`
  let isVersion2: Promise<unknown> | null = null
  const checkMount = (): Promise<unknown> =>
    (isVersion2 ??= mountChecked().catch((error) => {
      isVersion2 = null
      throw error
    }))
  const mountChecked = async (): Promise<true> => {
    const path = `sys/internal/ui/mounts/${encodedPath(mount, 'mount')}`
    const sent = await http.get(path, [200, 404])
    return valueOf(isVersion2In(sent, mount), sent)
  }

  return {
    readMetadata: async (path) => {
      const sent = await http.get(below(path, 'metadata/'), [200, 404])
      return valueOrNull(metadataIn(sent, clock.nowMs()), sent)
    },
    readData: async (path, engine) => {
      if (engine === 2) {
        const sent = await http.get(below(path, 'data/'), [200, 404])
        return valueOrNull(dataOfVersion2In(sent), sent)
      }
      const [project = ''] = path.split('/')
      if (API_OF_VERSION_2.has(project))
        throw new SecretStoreError('refused', RESERVED_PROJECT, null)
      const sent = await http.get(below(path, ''), [200, 404])
      return valueOrNull(dataOfVersion1In(sent), sent)
    },
    writeData: async (path, content, cas) => {
      const to = below(path, 'data/')
      await checkMount()
      const sent = await http.postOnce(to, { options: { cas }, data: content }, [200, 400, 404])
      return valueOf(writtenIn(sent), sent)
    },
    writeCustomMetadata: async (path, custom) => {
      const to = below(path, 'metadata/')
      await checkMount()
      const sent = await http.post(to, { custom_metadata: custom }, [200, 204, 400, 404])
      if (sent.status >= 400) throw faultOfAnswer(writeFault(sent), sent.status)
    },
    lookupToken: async () => {
      const sent = await http.get('auth/token/lookup-self', [200])
      return valueOf(lookedUpTokenIn(sent), sent)
    },
    renewToken: async () => {
      const sent = await http.post('auth/token/renew-self', {}, [200])
      return valueOf(renewedTokenIn(sent), sent)
    },
  }
}

const RESERVED_PROJECT =
  'a project of this name has no entries of version 1: the name stands for others in version 2'

/** The path for a URL. @throws SecretStoreError for a path that a server could take for another one */
function encodedPath(path: string, what: 'mount' | 'path'): string {
  const segments = path.split('/')
  const isPlain = segments.every((one) => one !== '' && one !== '.' && one !== '..')
  if (isPlain && path.isWellFormed()) return segments.map(encodeURIComponent).join('/')
  throw new SecretStoreError('refused', `the ${what} has an empty segment, "." or ".."`, null)
}

function valueOrNull<Found>(answer: KvAnswer<Found>, { status }: StoreBody): Found | null {
  if (answer.kind === 'fault') throw faultOfAnswer(answer.fault, status)
  return answer.kind === 'missing' ? null : answer.value
}

function valueOf<Found>(answer: KvAnswer<Found>, sent: StoreBody): Found {
  const value = valueOrNull(answer, sent)
  if (value === null) throw faultOfAnswer('has no answer', sent.status)
  return value
}
