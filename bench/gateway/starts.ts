// The CPU time of a start of the gateway: as it is shipped, as it was before it was bundled, and as Node alone takes.
import { join } from 'node:path'
import { type Figures, type Measured, interleaved } from '../measure/rounds.ts'
import { cpuMs } from '../measure/usage.ts'
import type { RunningProduct } from '../product.ts'
import { useShippedProgram } from '../shipped-program.ts'
import { filesOfGateway, startReader, unbundledProgram } from './start-programs.ts'

const UNBUNDLED = join(import.meta.dirname, '../../.bench/unbundled')
const ROUNDS = 4

/** What is started. `empty Node` reads the files that the gateway loads. */
const STARTED = ['gateway', 'unbundled', 'empty Node'] as const

type Started = AsyncDisposable & { readonly pid: number }

/**
 * Starts each in turn, four times.
 *
 * @returns startCpuMs: CPU time until it is ready; and besideEmptyNode of the gateway, its ratio in the same round
 */
export async function measureStarts(
  { startAnotherGateway }: RunningProduct,
  log: (line: string) => void,
): Promise<Measured> {
  if (!process.env['PROGRAM_FILE']) await useShippedProgram()
  const files = filesOfGateway(process.env['PROGRAM_FILE'] ?? '')
  const sources = unbundledProgram(UNBUNDLED)
  const starts: Readonly<Record<(typeof STARTED)[number], () => Promise<Started>>> = {
    gateway: () => startAnotherGateway(),
    unbundled: () => startAnotherGateway(sources),
    'empty Node': () => startReader(files),
  }
  const measured = await interleaved(
    STARTED,
    ROUNDS,
    async (name) => {
      await using started = await starts[name]()
      return { startCpuMs: cpuMs(started.pid) }
    },
    (line) => log(`gateway-start, ${line}`),
  )
  const empty = measured['empty Node']
  const withRatio = (figures: Figures, round: number): Figures => ({
    ...figures,
    besideEmptyNode: (figures['startCpuMs'] ?? 0) / (empty[round]?.['startCpuMs'] ?? Number.NaN),
  })
  return { ...measured, gateway: measured.gateway.map(withRatio) }
}
