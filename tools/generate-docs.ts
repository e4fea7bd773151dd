// Fills the parts of docs/ that come from the program: what stands between `<!-- name -->` and
// `<!-- /name -->`, and the pages of docs/reference. With --check it changes nothing and fails where
// something is stale.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { directFlagsTable } from '../src/commands/direct/flags.ts'
import { gatewayFlagsTable } from '../src/commands/gateway/flags.ts'
import { checkFlagsTable } from '../src/commands/check/flags.ts'
import { keygenFlagsTable } from '../src/commands/keygen.ts'
import { kubeconfigFlagsTable } from '../src/commands/kubeconfig.ts'
import { managerFlagsTable } from '../src/commands/manager/flags.ts'
import { revokeFlagsTable } from '../src/commands/revoke.ts'
import { syncerFlagsTable } from '../src/commands/syncer/flags.ts'
import { targetFlagsTable } from '../src/commands/target.ts'
import { tryFlagsTable } from '../src/commands/syncer/try-patches.ts'
import { hostMeaningsTable } from './generate/host-meanings.ts'
import { performanceParts, performancePictures } from './generate/performance.ts'
import { referencePages } from './generate/reference.ts'
import {
  answersTable,
  directRemediesTable,
  remediesTable,
  selfServiceAnswersTable,
  tokenAnswersTable,
  webhookAnswersTable,
} from './generate/refusals.ts'

const DOCS = join(import.meta.dirname, '../docs')

const PARTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'operating.md': {
    flags: managerFlagsTable(),
    'gateway-flags': gatewayFlagsTable(),
    'direct-flags': directFlagsTable(),
    'keygen-flags': keygenFlagsTable(),
    'check-flags': checkFlagsTable(),
    'kubeconfig-flags': kubeconfigFlagsTable(),
    'revoke-flags': revokeFlagsTable(),
  },
  'gateway.md': { answers: answersTable(), 'self-service-answers': selfServiceAnswersTable() },
  'direct-endpoint.md': { 'direct-answers': tokenAnswersTable() },
  'direct-webhook.md': { 'webhook-answers': webhookAnswersTable() },
  'targets.md': { 'target-flags': targetFlagsTable() },
  'patches.md': { 'syncer-flags': tryFlagsTable() },
  'endpoint-sync.md': {
    'host-meanings': hostMeaningsTable(),
    'syncer-flags': syncerFlagsTable(),
  },
  'performance.md': performanceParts(),
  'troubleshooting.md': { answers: remediesTable(), 'direct-answers': directRemediesTable() },
}

failOnUnknownMarks()
const isCheck = process.argv.includes('--check')
const pages = [
  ...Object.entries(PARTS).map(([file, parts]) => [file, filled(file, parts)] as const),
  ...Object.entries(performancePictures()).map(
    ([file, svg]) => [join('performance', file), svg] as const,
  ),
  ...[...referencePages()].map(([file, text]) => [join('reference', file), text] as const),
]
for (const [file, text] of pages) {
  if (text === current(file)) continue
  if (isCheck) {
    console.error(`docs/${file} is stale, run make generate`)
    process.exitCode = 1
  } else {
    mkdirSync(dirname(join(DOCS, file)), { recursive: true })
    writeFileSync(join(DOCS, file), text)
    console.log(`docs/${file} written`)
  }
}

function filled(file: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((page, [part, text]) => {
    const between = new RegExp(`(<!-- ${part} -->\n)[^]*?(<!-- /${part} -->)`)
    if (!between.test(page)) throw new Error(`docs/${file} has no place for ${part}`)
    return page.replace(
      between,
      (_, open: string, close: string) => `${open}${text.trim()}\n${close}`,
    )
  }, current(file))
}

/** A part that this program does not fill would keep its text for ever. @throws Error that names its page */
function failOnUnknownMarks(): void {
  for (const file of readdirSync(DOCS).filter((name) => name.endsWith('.md')))
    for (const [, part = ''] of current(file).matchAll(/<!-- \/([\w-]+) -->/g))
      if (PARTS[file]?.[part] === undefined)
        throw new Error(`docs/${file} has a place for ${part}, which nothing fills`)
}

/** Empty where there is no such page yet. */
function current(file: string): string {
  const path = join(DOCS, file)
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}
