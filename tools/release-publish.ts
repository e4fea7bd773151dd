// `make release-sign` and `make release-push`: sign and push what `make release` wrote into dist/. With DRY_RUN=1 they print
// the commands, and run none.
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ensureHelm } from './helm/program.ts'
import { parseImage } from './release/image.ts'
import { type Command, pushCommands, signCommands } from './release/publish.ts'

const ROOT = join(import.meta.dirname, '..')
const { IMAGE = '', COSIGN = 'cosign', KEY = '', CHARTS = '', DRY_RUN = '' } = process.env

async function commandsOf(step: string | undefined): Promise<readonly Command[]> {
  if (step === 'sign') {
    const { repository, digest } = parseImage(IMAGE)
    const image = `${repository}@${digest}`
    return signCommands({ cosign: COSIGN, image, key: KEY === '' ? null : KEY })
  }
  if (step !== 'push') throw new Error('usage: node tools/release-publish.ts sign|push')
  if (!CHARTS.startsWith('oci://'))
    throw new Error('CHARTS is no registry: write oci://registry.example.com/charts')
  const packages = readdirSync(join(ROOT, 'dist')).filter((name) => name.endsWith('.tgz'))
  const helm = DRY_RUN === '1' ? 'helm' : await ensureHelm(console.log)
  return pushCommands(helm, packages.toSorted(), CHARTS)
}

try {
  for (const command of await commandsOf(process.argv[2])) {
    console.log(command.join(' '))
    const [program, ...args] = command
    if (DRY_RUN !== '1') execFileSync(program, args, { cwd: ROOT, stdio: 'inherit' })
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
