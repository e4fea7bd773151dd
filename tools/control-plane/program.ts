// One program that Go builds: most tools of tests and releases are that.
import { join, resolve } from 'node:path'
import { buildMissing } from './build.ts'

/** A program that one go.mod pins. */
interface PinnedProgram {
  /** Its file. */
  readonly name: string
  /** Its name in messages. */
  readonly title: string
  /** The path of its main package. */
  readonly pkg: string
  /** How long its build takes on two cores, nothing cached. */
  readonly about: string
  /** The same for the title's line; absent = `about`. */
  readonly aboutAll?: string
  /** The folder of the go.mod. */
  readonly moduleDir: string
  /** The folder that gets it, see cacheOf. */
  readonly into: string
  /** The variable that names another program. */
  readonly variable: string
  /** Whether a name without a folder in that variable is looked up on PATH; absent = it is a file here. */
  readonly isOnPath?: boolean
  /** Flags of the linker; absent = those that leave symbols out. */
  readonly linkerFlags?: (goMod: string) => string
}

/**
 * The path of a program: what its variable names, else from its folder, else built with Go into that folder.
 *
 * @throws Error when Go is missing, too old or fails; its first line has the ways out
 */
export async function ensureProgram(
  program: PinnedProgram,
  log: (line: string) => void,
): Promise<string> {
  const { name, title, pkg, about, moduleDir, into, variable } = program
  const named = process.env[variable] ?? ''
  if (named !== '') return program.isOnPath && !named.includes('/') ? named : resolve(named)
  await buildMissing({
    title,
    about: program.aboutAll ?? about,
    moduleDir,
    into,
    sources: { [name]: { pkg, about } },
    linkerFlags: program.linkerFlags ?? (() => '-s -w'),
    otherwise: `set ${variable} to the program`,
    log,
  })
  return join(into, name)
}
