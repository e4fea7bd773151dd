import type { DirectClusterEndpointToken } from '../../api/directclusterendpointtoken.gen.ts'
import type { MetricName } from '../../api/metrics.ts'
import { TOKENS } from '../../api/names.ts'
import type { ConfigMap, KubeObject, Secret } from '../../api/objects.ts'
import { withLivePeople } from '../../authn/live-people.ts'
import { createLiveKeyReader } from '../../authn/live-reader.ts'
import { keysAffectedBy } from '../../domain/accesskey/owner-chain.ts'
import type { PlatformTeam } from '../../domain/people/team.ts'
import type { PlatformUser } from '../../domain/people/user.ts'
import { type TokenObject, tokenOf } from '../../domain/token/token.ts'
import {
  type ControllerSpec,
  type Watch,
  fewResyncs,
  onChange,
  onSignal,
} from '../../kube/controller/builder.ts'
import { everyObject } from '../../kube/controller/definition.ts'
import { type FullObject, Store } from '../../kube/informer/store.ts'
import { type EventLoopShare, forEachYieldingByTime } from '../../runtime/concurrency/event-loop.ts'
import type { Instruments } from '../../runtime/metrics.ts'
import type { PeopleIndex } from '../../people/people-index.ts'
import { type FollowedCaps, knownCaps } from '../../settings/caps.ts'
import type { FollowedIssuer } from '../../settings/issuer.ts'
import type { Keyring } from '../../signing/keyring.ts'
import { keysIn, keysUnder, onPeople } from '../indexes/access-keys.ts'
import { BY_UID, TOKEN_INDEXERS, namesUnder, tokenEndMs } from '../indexes/tokens.ts'
import { TOKEN_STATE_LABELS, type TokenMetrics, countTokens, tokenMetrics } from './metrics.ts'
import { TOKEN_WRITE_REASONS, type TokenDeps, reconcile } from './reconcile.ts'

/** Maximum age of a key that was read before tokens are issued or revoked: one read serves many tokens of the key. */
const LIVE_KEYS_MAX_AGE_MS = 100

/** What the controller of tokens needs from the process. */
export interface TokenSetup
  extends Pick<TokenDeps, 'client' | 'revocations' | 'issues' | 'events' | 'clock'> {
  readonly settings: Pick<TokenDeps, 'configName'> & {
    readonly workers: number
    readonly tokenMaxTtlMs: number
    readonly expiredRetentionMs: number
  }
  readonly stores: Pick<TokenDeps, 'keys' | 'tokens'> & {
    readonly configMaps: Store<FullObject<ConfigMap>>
    readonly signingSecrets: Store<FullObject<Secret>>
    readonly users: Pick<Store<PlatformUser>, 'whenSynced'>
    readonly teams: Pick<Store<PlatformTeam>, 'whenSynced'>
  }
  readonly people: PeopleIndex
  readonly caps: FollowedCaps
  readonly issuer: FollowedIssuer
  readonly keyring: Keyring
  readonly eventLoop: EventLoopShare
  readonly metrics: TokenMetrics
}

/** What counts the tokens. */
interface TokenCounting {
  readonly stores: { readonly tokens: Store<TokenObject> }
  readonly nowMs: number
  readonly eventLoop: EventLoopShare
}

/** The controller of tokens. */
export const tokenController = {
  name: 'directclusterendpointtoken',
  workers: ({ workers }: TokenSetup['settings']) => workers,
  writes: { [TOKENS.kind]: TOKEN_WRITE_REASONS },
  watches: {
    tokens: {
      resource: TOKENS,
      createStore: () =>
        new Store(
          (object: KubeObject) => tokenOf(object as DirectClusterEndpointToken),
          TOKEN_INDEXERS,
        ),
      query: everyObject,
    },
  },
  counts: {
    kind: TOKENS.kind,
    metric: 'platform_tokens' as const,
    expires: true,
    states: TOKEN_STATE_LABELS,
    count: ({ stores, nowMs, eventLoop }: TokenCounting) =>
      countTokens(stores.tokens, nowMs, eventLoop),
  },
  metrics: ({ make }: { readonly make: Instruments<MetricName> }) => tokenMetrics(make),
  setUp: (setup: TokenSetup): ControllerSpec => {
    const { client, settings, stores, people, caps, issuer, keyring, revocations, issues } = setup
    const { events, clock, eventLoop, metrics } = setup
    const { keys, tokens, configMaps, signingSecrets, users, teams } = stores
    const relations = keysIn(keys, people)
    const deps: TokenDeps = {
      client,
      keys,
      people,
      tokens,
      revocations,
      issues,
      events,
      clock,
      readKeys: withLivePeople(
        createLiveKeyReader(client, clock, relations, LIVE_KEYS_MAX_AGE_MS),
        client,
        clock,
        LIVE_KEYS_MAX_AGE_MS,
      ).readWithRelated,
      signer: keyring,
      caps: () => knownCaps(caps),
      issuer: () => issuer.current(),
      configName: settings.configName,
      maxTtlMs: settings.tokenMaxTtlMs,
      retentionMs: settings.expiredRetentionMs,
      observer: { issued: metrics.tokenIssued, signed: metrics.tokenSigned },
    }
    const ifCapsKnown = (names: () => readonly string[]): readonly string[] =>
      caps.current() === null ? [] : names()
    return {
      name: tokenController.name,
      workers: settings.workers,
      resyncsAtOnce: fewResyncs(settings.workers),
      reconcile: (key, context) => reconcile(key, deps, context),
      objectOf: (key) => tokens.getByKey(key),
      reads: [keys, tokens, configMaps, signingSecrets, users, teams],
      watches: [
        onChange(tokens, ({ key }) => ifCapsKnown(() => [key])),
        onChange(keys, (change) =>
          ifCapsKnown(() => namesUnder(keysAffectedBy(change, relations), tokens)),
        ),
        onPeople(people, eventLoop, (identity) =>
          ifCapsKnown(() => namesUnder(keysUnder(identity, keys, relations), tokens)),
        ),
        onSignal(revocations, (jtis: readonly string[]) =>
          ifCapsKnown(() => jtis.flatMap((jti) => tokens.by(BY_UID, jti)).map(({ name }) => name)),
        ),
        resyncAll(setup),
      ],
    }
  },
}

/**
 * Enqueues all tokens whenever the signing key, the issuer or the caps change, those that expire first at the front.
 */
const resyncAll =
  ({ stores: { tokens }, caps, issuer, keyring, eventLoop }: TokenSetup): Watch =>
  (enqueue) => {
    const enqueueAll = (): void => {
      if (caps.current() === null) return
      void forEachYieldingByTime(eventLoop, tokens.values(), tokenEndMs, ({ name }) =>
        enqueue(name, 'resync'),
      )
    }
    keyring.subscribe(enqueueAll)
    issuer.subscribe(enqueueAll)
    caps.subscribe(enqueueAll)
  }
