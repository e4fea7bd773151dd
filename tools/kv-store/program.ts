// The store of secrets beside this file, and the program that reads and writes it as others do; both are in Go.
import { readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { cacheDirectory } from '../control-plane/cache.ts'
import type { Ensure } from '../control-plane/found.ts'
import { ensureProgram } from '../control-plane/program.ts'

const MODULE_DIR = import.meta.dirname

/** All that decides what is built. */
const pins = (): readonly Buffer[] =>
  ['go.mod', 'go.sum', ...sources('.'), ...sources('peer')].map((file) =>
    readFileSync(join(MODULE_DIR, file)),
  )

const sources = (folder: string): readonly string[] =>
  readdirSync(join(MODULE_DIR, folder))
    .filter((file) => file.endsWith('.go'))
    .toSorted()
    .map((file) => join(folder, file))

const ensure =
  (name: string, title: string, pkg: string, about: string, variable: string): Ensure =>
  (log) =>
    ensureProgram(
      {
        name,
        title,
        pkg,
        about,
        moduleDir: MODULE_DIR,
        into: cacheDirectory('kv-store', process.env, homedir(), pins()),
        variable,
      },
      log,
    )

/** The path of the store, or what KV_STORE names. @throws as ensureProgram */
export const ensureKvStore = ensure('kv-store', 'a store of secrets', '.', '60 seconds', 'KV_STORE')

/** The path of its peer, or what KV_STORE_PEER names. @throws as ensureProgram */
export const ensureKvStorePeer = ensure(
  'kv-store-peer',
  'a client of a store of secrets',
  './peer',
  '10 seconds',
  'KV_STORE_PEER',
)
