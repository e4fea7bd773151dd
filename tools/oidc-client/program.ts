// The app in Go beside this file, which a test has sign people in.
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { cacheDirectory } from '../control-plane/cache.ts'
import { ensureProgram } from '../control-plane/program.ts'

const MODULE_DIR = import.meta.dirname
const PINS = ['go.mod', 'go.sum', 'main.go']

/** The path of the app, or what OIDC_CLIENT names. @throws as ensureProgram */
export const ensureOidcClient = (log: (line: string) => void): Promise<string> => {
  const pins = PINS.map((file) => readFileSync(join(MODULE_DIR, file)))
  return ensureProgram(
    {
      name: 'oidc-client',
      title: 'an OpenID Connect app in Go',
      pkg: '.',
      about: '20 seconds',
      moduleDir: MODULE_DIR,
      into: cacheDirectory('oidc-client', process.env, homedir(), pins),
      variable: 'OIDC_CLIENT',
    },
    log,
  )
}
