// The gateway's part of `make bench` by itself: `node bench/gateway/run.ts [--full] [--rounds 5] [--seconds 1.5]
// [--only get,list]`. Prints all figures as a table.
import { parseArgs } from 'node:util'
import { startControlPlane } from '../../tools/control-plane/control-plane.ts'
import { GATEWAY_SIZES, GATEWAY_SUBJECTS, type GatewayOptions, measureGateway } from './measure.ts'
import { tableOf } from './table.ts'

/** What the command line asks for. @throws Error for what it can't ask for */
function optionsOf(args: readonly string[]): GatewayOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      full: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      only: { type: 'string' },
    },
  })
  const sizes = values.full ? GATEWAY_SIZES.full : GATEWAY_SIZES.quick
  const only = values.only?.split(',') ?? GATEWAY_SUBJECTS
  const unknown = only.filter((one) => !GATEWAY_SUBJECTS.some((subject) => subject === one))
  if (unknown.length > 0)
    throw new Error(`--only knows ${GATEWAY_SUBJECTS.join(', ')}, but not ${unknown.join(', ')}`)
  return {
    ...sizes,
    rounds: positive('rounds', values.rounds) ?? sizes.rounds,
    seconds: positive('seconds', values.seconds) ?? sizes.seconds,
    subjects: GATEWAY_SUBJECTS.filter((subject) => only.includes(subject)),
    log: console.error,
  }
}

/** undefined where it is not given. @throws Error for anything but a positive number */
function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (value > 0) return value
  throw new Error(`--${name} must be a positive number`)
}

async function main(options: GatewayOptions): Promise<void> {
  const plane = await startControlPlane({ log: options.log })
  try {
    process.stdout.write(tableOf(await measureGateway(plane, options)))
  } finally {
    await plane.stop()
  }
}

await main(optionsOf(process.argv.slice(2)))
