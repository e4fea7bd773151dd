// `make release-sign` and `make release-push`: sign and push what `make release` wrote into dist/. With DRY_RUN=1 they print
// the commands, and run none.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AGENT, PLATFORM } from './charts/files.ts'
import { ensureCosign } from './cosign/program.ts'
import { ensureHelm } from './helm/program.ts'
import { readRelease } from './release/folder.ts'
import { parseImage } from './release/image.ts'
import {
  type Command,
  parseDryRun,
  pushCommands,
  shownCommand,
  signCommands,
} from './release/publish.ts'
import { packageName, publicationFaults } from './release/ready.ts'

const ROOT = join(import.meta.dirname, '..')
const CHART_NAMES = [PLATFORM, AGENT]
const { IMAGE = '', KEY = '', CHARTS = '', DRY_RUN = '' } = process.env
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string
}

/** @throws Error with each reason why dist/ can't be published */
function requireRelease(image: string | null): void {
  const publication = { version, charts: CHART_NAMES, image }
  const faults = publicationFaults(readRelease(join(ROOT, 'dist')), publication)
  if (faults.length > 0) throw new Error(faults.join('\n'))
}

async function signing(isDryRun: boolean): Promise<readonly Command[]> {
  const { repository, digest } = parseImage(IMAGE)
  const image = `${repository}@${digest}`
  requireRelease(image)
  const cosign = isDryRun ? 'cosign' : await ensureCosign(console.log)
  return signCommands({ cosign, image, key: KEY === '' ? null : KEY })
}

async function pushing(isDryRun: boolean): Promise<readonly Command[]> {
  if (!/^oci:\/\/[^/]+/.test(CHARTS))
    throw new Error(
      `CHARTS is ${JSON.stringify(CHARTS)}: write the registry for charts, such as oci://registry.example.com/charts`,
    )
  requireRelease(null)
  const helm = isDryRun ? 'helm' : await ensureHelm(console.log)
  const packages = CHART_NAMES.map((chart) => packageName(chart, version))
  return pushCommands(helm, packages, CHARTS)
}

/** @throws Error when it fails; when it can't be started, with the variable that names another */
function run([program, ...args]: Command, variable: string): void {
  try {
    execFileSync(program, args, { cwd: ROOT, stdio: 'inherit' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'EACCES') throw error
    const remedy = `set ${variable} to the program, or to nothing: then it is built once`
    throw new Error(`${program} can't be run (${code}): ${remedy}`, { cause: error })
  }
}

const STEPS = {
  sign: { commands: signing, variable: 'COSIGN' },
  push: { commands: pushing, variable: 'HELM' },
} as const

try {
  const step = new Map(Object.entries(STEPS)).get(process.argv[2] ?? '')
  if (step === undefined) throw new Error('usage: node tools/release-publish.ts sign|push')
  const isDryRun = parseDryRun(DRY_RUN)
  for (const command of await step.commands(isDryRun)) {
    console.log(shownCommand(command))
    if (!isDryRun) run(command, step.variable)
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
