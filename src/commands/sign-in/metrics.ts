// The metrics of the sign-in process (contract 27.1).
import { METRIC_HELP, type MetricName } from '../../api/metrics.ts'
import {
  ACCESS_KEYS,
  CONFIG_MAPS,
  LEASES,
  SECRETS,
  TEAMS,
  TOKEN_REVIEWS,
  USERS,
} from '../../api/names.ts'
import { PASSWORD, PROVIDERS } from '../../domain/settings/providers.ts'
import { SIGN_IN_REFUSALS } from '../../domain/signin/refusals.ts'
import { RESTART_REASONS } from '../../kube/informer/reflector-state.ts'
import { LEASE_WRITE_REASONS } from '../../kube/leader-election/elector.ts'
import {
  type Instruments,
  instruments,
  processRegistry,
  type Scrape,
} from '../../runtime/metrics.ts'
import { CERTIFICATE_WRITE_REASONS } from '../../serving/tls/serving-certificate.ts'
import { APP_GRANT_WRITE_REASONS } from '../../signin/apps/grant-writes.ts'
import { APP_GRANT_TYPES, type AppTokenReport } from '../../signin/apps/parts.ts'
import { TOKEN_ERRORS } from '../../signin/apps/refusal.ts'
import type { AttemptReport } from '../../signin/handler.ts'
import { PEOPLE_WRITE_REASONS } from '../../signin/people/writes.ts'
import { REPORT_WRITE_REASONS } from '../../signin/provider-report.ts'
import { KEPT_KEYS_WRITE_REASONS } from '../../signin/kept-keys.ts'
import type { RefreshObserver } from '../../signin/refresh/refresh-loop.ts'
import type { RefreshResult } from '../../signin/refresh/refresh-session.ts'
import { IDENTITY_REPORT_WRITE_REASONS } from '../../signin/sessions/identity-reports.ts'
import { LOGIN_KEY_WRITE_REASONS, SESSION_WRITE_REASONS } from '../../signin/sessions/writes.ts'
import { AUTHORITY_WRITE_REASONS } from '../shared/authority.ts'
import { type ClientMetrics, clientMetrics } from '../shared/client-metrics.ts'
import { leaderMetrics } from '../shared/leadership.ts'
import type { CommandProcess } from '../shared/process.ts'
import { type ServerMetrics, serverMetrics } from '../shared/server-metrics.ts'
import type { SignInProcessSettings } from './flags.ts'

/** Name of the Lease. */
export const SIGN_IN_LEASE = 'management-operator-sign-in'

/** The metrics of the sign-in process, with a method for each event that they count. */
interface SignInMetrics extends ClientMetrics, ServerMetrics {
  readonly leads: (isLeader: boolean) => void
  /** A request was a step of an attempt. */
  readonly attempted: (report: AttemptReport) => void
  /** An app has asked for tokens. */
  readonly appAsked: (report: AppTokenReport) => void
  readonly passwordsWaiting: (count: number) => void
  readonly teamsFull: () => void
  readonly refreshes: RefreshObserver
  readonly scrape: Scrape
}

/** Shared by all parts of the process. */
export type SignInProcess = CommandProcess<SignInProcessSettings, SignInMetrics>

/** Creates the metrics, all at zero, in a registry of their own. */
export function createSignInMetrics(): SignInMetrics {
  const { registry, scrape } = processRegistry()
  const make = instruments(registry, METRIC_HELP)
  return {
    ...clientMetrics(make, {
      writes: {
        [USERS.kind]: PEOPLE_WRITE_REASONS,
        [TEAMS.kind]: ['create'],
        [ACCESS_KEYS.kind]: LOGIN_KEY_WRITE_REASONS,
        [SECRETS.kind]: [
          ...new Set([
            ...SESSION_WRITE_REASONS,
            ...KEPT_KEYS_WRITE_REASONS,
            ...APP_GRANT_WRITE_REASONS,
            ...CERTIFICATE_WRITE_REASONS,
          ]),
        ],
        [CONFIG_MAPS.kind]: [
          ...new Set([
            ...REPORT_WRITE_REASONS,
            ...AUTHORITY_WRITE_REASONS,
            ...IDENTITY_REPORT_WRITE_REASONS,
          ]),
        ],
        [TOKEN_REVIEWS.kind]: ['review'],
        [LEASES.kind]: LEASE_WRITE_REASONS,
      },
      watches: [USERS, TEAMS, SECRETS].map(({ plural }) => plural),
      watchRestartReasons: RESTART_REASONS,
    }),
    ...leaderMetrics(make, SIGN_IN_LEASE),
    ...serverMetrics(make),
    ...attemptMetrics(make),
    refreshes: refreshMetrics(make),
    ...appMetrics(make),
    scrape,
  }
}

/** For attempts that name no provider: Prometheus takes an empty label for none. */
const NO_PROVIDER = 'none'
const PROVIDER_KINDS = [...PROVIDERS, PASSWORD, NO_PROVIDER]
const OUTCOMES = ['begun', 'signed_in', 'signed_out'] as const
const STEP_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

type AttemptMetrics = Pick<SignInMetrics, 'attempted' | 'passwordsWaiting' | 'teamsFull'>

function attemptMetrics({ counter, gauge, histogram }: Instruments<MetricName>): AttemptMetrics {
  const reasons = Object.keys(SIGN_IN_REFUSALS)
  const attempts = counter(
    'platform_sign_in_total',
    PROVIDER_KINDS.flatMap((provider) => [
      ...OUTCOMES.map((outcome) => ({ provider, outcome, reason: '' })),
      ...reasons.map((reason) => ({ provider, outcome: 'refused', reason })),
    ]),
  )
  const seconds = histogram(
    'platform_sign_in_seconds',
    STEP_BUCKETS,
    PROVIDER_KINDS.map((provider) => ({ provider })),
  )
  const waiting = gauge('platform_sign_in_passwords_waiting', [{}])
  const full = counter('platform_sign_in_teams_not_created_total', [{}])
  return {
    attempted: ({ provider, outcome, reason, seconds: took }) => {
      const kind = PROVIDER_KINDS.includes(provider) ? provider : NO_PROVIDER
      attempts.inc({ provider: kind, outcome, reason: reason ?? '' })
      seconds.observe({ provider: kind }, took)
    },
    passwordsWaiting: (count) => waiting.set(count),
    teamsFull: () => full.inc(),
  }
}

const REFRESH_OUTCOMES: readonly RefreshResult[] = [
  'refreshed',
  'identity_gone',
  'sign_in_again',
  'failed',
]

function refreshMetrics({ counter, gauge }: Instruments<MetricName>): RefreshObserver {
  const refreshes = counter(
    'platform_identity_refresh_total',
    PROVIDERS.flatMap((provider) => REFRESH_OUTCOMES.map((outcome) => ({ provider, outcome }))),
  )
  const overdue = gauge('platform_identity_refresh_overdue_seconds', [{}])
  return {
    refreshed: (provider, outcome) => {
      // Nobody was asked.
      if (outcome !== 'superseded') refreshes.inc({ provider, outcome })
    },
    overdue: (seconds) => overdue.set(seconds),
  }
}

/** Of requests that name no grant. */
const NO_GRANT = 'none'

function appMetrics({ counter }: Instruments<MetricName>): Pick<SignInMetrics, 'appAsked'> {
  const outcomes = ['issued', ...TOKEN_ERRORS]
  const tokens = counter(
    'platform_app_tokens_total',
    [...APP_GRANT_TYPES, NO_GRANT].flatMap((grant) =>
      outcomes.map((outcome) => ({ grant, outcome })),
    ),
  )
  return { appAsked: ({ grant, outcome }) => tokens.inc({ grant: grant ?? NO_GRANT, outcome }) }
}
