// The roles that are shipped for scopes, read from config/scope-roles.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { PolicyRule } from '../../src/domain/scope/roles.ts'

const FOLDER = join(import.meta.dirname, '../../config/scope-roles')
const PREFIX = 'platform:scope:'

/** Their rules, by the name of the role. */
export function shippedRoles(): ReadonlyMap<string, readonly PolicyRule[]> {
  const files = readdirSync(FOLDER).filter((name) => name !== 'kustomization.yaml')
  return new Map(
    files.map((file) => {
      const { metadata, rules } = parse(readFileSync(join(FOLDER, file), 'utf8')) as {
        readonly metadata: { readonly name: string }
        readonly rules: readonly PolicyRule[]
      }
      if (!metadata.name.startsWith(PREFIX)) throw new Error(`${file} names ${metadata.name}`)
      return [metadata.name.slice(PREFIX.length), rules]
    }),
  )
}
