// `DEBUG` and `make dev`, which add to `make run` an inspector of a command, and a restart when sources change.
import { watch } from 'node:fs'

/** The port of each command's inspector on 127.0.0.1. */
const INSPECTOR_PORTS = {
  manager: 9229,
  gateway: 9230,
  direct: 9231,
  syncer: 9232,
  'sign-in': 9233,
  delivery: 9234,
} as const

/** A command that `make run` keeps running. */
export type RunCommand = keyof typeof INSPECTOR_PORTS

const isCommand = (name: string): name is RunCommand => Object.hasOwn(INSPECTOR_PORTS, name)

/** The commands that DEBUG names, such as `gateway,manager`; `unknown` has its other words. */
export function debuggedCommands(debug: string | undefined): {
  readonly commands: readonly RunCommand[]
  readonly unknown: readonly string[]
} {
  const names = (debug ?? '').split(/[\s,]+/).filter(Boolean)
  return { commands: names.filter(isCommand), unknown: names.filter((name) => !isCommand(name)) }
}

/** The address of a command's inspector: of this machine only, as it runs whatever code it is sent. */
export const inspectorAddress = (command: RunCommand): string =>
  `127.0.0.1:${INSPECTOR_PORTS[command]}`

/** Node's flags for a command: an inspector if DEBUG names it. */
export const inspectorFlags = (
  command: RunCommand,
  debug: string | undefined,
): readonly string[] =>
  debuggedCommands(debug).commands.includes(command)
    ? [`--inspect=${inspectorAddress(command)}`]
    : []

/** An editor writes a file in several steps, and a checkout many files. */
const SETTLED_AFTER_MS = 200

/** Calls back once files below a folder have changed and have been left alone for a moment. @returns a function that ends it */
export function onSettledChange(folder: string, changed: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  const watcher = watch(folder, { recursive: true }, (_, name) => {
    if (!name?.endsWith('.ts')) return
    clearTimeout(timer)
    timer = setTimeout(changed, SETTLED_AFTER_MS)
  })
  return () => {
    clearTimeout(timer)
    watcher.close()
  }
}
