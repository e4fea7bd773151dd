// Puts the product into the cluster of the user's kubeconfig, and takes it out again:
// `make install`, `make deploy IMG=...`, `make undeploy`.
import { parseArgs } from 'node:util'
import { deploy, install } from './install/deploy.ts'
import { undeploy } from './install/undeploy.ts'

const USAGE = `usage: node tools/install.ts install
       node tools/install.ts deploy --image <image> [--timeout 5m]
       node tools/install.ts undeploy`

const say = (line: string): void => console.log(line)

async function main(): Promise<void> {
  const options = { image: { type: 'string' }, timeout: { type: 'string', default: '5m' } } as const
  const { positionals, values } = parseArgs({ options, allowPositionals: true })
  const [command, ...more] = positionals
  if (more.length > 0) throw new Error(USAGE)
  if (command === 'install') return install(say)
  if (command === 'undeploy') return undeploy(say)
  if (command === 'deploy' && values.image) return deploy(values.image, values.timeout, say)
  throw new Error(USAGE)
}

try {
  await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
