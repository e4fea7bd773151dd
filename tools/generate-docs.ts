// Fills the parts of docs/ that come from the program: what stands between `<!-- name -->` and
// `<!-- /name -->`, and the pages of docs/reference. With --check it changes nothing and fails where
// something is stale. bench/report/write-page.ts does the same for docs/performance.md.
import { join } from 'node:path'
import { auditFlagsTable } from '../src/commands/audit/flags.ts'
import { deliveryFlagsTable } from '../src/commands/delivery/flags.ts'
import { directFlagsTable } from '../src/commands/direct/flags.ts'
import { gatewayFlagsTable } from '../src/commands/gateway/flags.ts'
import { checkFlagsTable } from '../src/commands/check/flags.ts'
import { keygenFlagsTable } from '../src/commands/keygen/command.ts'
import { kubeconfigFlagsTable } from '../src/commands/kubeconfig/command.ts'
import { loginFlagsTable } from '../src/commands/login/command.ts'
import { logoutFlagsTable } from '../src/commands/logout/command.ts'
import { managerFlagsTable } from '../src/commands/manager/flags.ts'
import { passwordFlagsTable } from '../src/commands/password/command.ts'
import { revokeFlagsTable } from '../src/commands/revoke/command.ts'
import { sessionsFlagsTable } from '../src/commands/sessions/command.ts'
import { signInFlagsTable } from '../src/commands/sign-in/flags.ts'
import { syncerFlagsTable } from '../src/commands/syncer/flags.ts'
import { targetFlagsTable } from '../src/commands/target/command.ts'
import { tokenFlagsTable } from '../src/commands/token/command.ts'
import { tryFlagsTable } from '../src/commands/syncer/try-patches.ts'
import { whoamiFlagsTable } from '../src/commands/whoami/command.ts'
import { auditLevelPages } from './generate/audit-levels.ts'
import { hostMeaningsTable } from './generate/host-meanings.ts'
import { filledPages, writePages } from './generate/pages.ts'
import { referencePages } from './generate/reference.ts'
import {
  answersTable,
  directRemediesTable,
  remediesTable,
  selfServiceAnswersTable,
  signInRefusalsTable,
  tokenAnswersTable,
  webhookAnswersTable,
} from './generate/refusals.ts'

const PARTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'operating.md': {
    flags: managerFlagsTable(),
    'gateway-flags': gatewayFlagsTable(),
    'delivery-flags': deliveryFlagsTable(),
    'sign-in-flags': signInFlagsTable(),
    'direct-flags': directFlagsTable(),
    'keygen-flags': keygenFlagsTable(),
    'check-flags': checkFlagsTable(),
    'kubeconfig-flags': kubeconfigFlagsTable(),
    'revoke-flags': revokeFlagsTable(),
    'sessions-flags': sessionsFlagsTable(),
    'audit-flags': auditFlagsTable(),
  },
  'gateway.md': { answers: answersTable(), 'self-service-answers': selfServiceAnswersTable() },
  'direct-endpoint.md': { 'direct-answers': tokenAnswersTable() },
  'direct-webhook.md': { 'webhook-answers': webhookAnswersTable() },
  'sign-in/README.md': { refusals: signInRefusalsTable() },
  'targets.md': { 'target-flags': targetFlagsTable() },
  'patches.md': { 'syncer-flags': tryFlagsTable() },
  'endpoint-sync.md': {
    'host-meanings': hostMeaningsTable(),
    'syncer-flags': syncerFlagsTable(),
  },
  'sign-in/command-line.md': {
    'login-flags': loginFlagsTable(),
    'logout-flags': logoutFlagsTable(),
    'whoami-flags': whoamiFlagsTable(),
    'token-flags': tokenFlagsTable(),
    'password-flags': passwordFlagsTable(),
  },
  'troubleshooting.md': { answers: remediesTable(), 'direct-answers': directRemediesTable() },
}

writePages([
  ...filledPages(PARTS, (file) => file !== 'performance.md'),
  ...auditLevelPages(),
  ...[...referencePages()].map(([file, text]) => [join('reference', file), text] as const),
])
