// crds/*.yaml and config/ -> src/api/*.gen.ts, and rules.yml -> both prometheus-rule.yaml. With --check nothing
// is written: stale files are named, exit 1.

import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kind, readKind } from './generate/crd.ts'
import { renderInstallation } from './generate/installation.ts'
import {
  renderKind,
  renderProviderGroup,
  renderScope,
  renderSettingsSchema,
} from './generate/modules.ts'
import { ALL_ALERTS, DIRECT_ALERTS, prometheusRule } from './generate/prometheus-rule.ts'

const ROOT = join(import.meta.dirname, '..')
const RULES = 'config/components/prometheus/rules.yml'
const PROMETHEUS_RULES = {
  'config/components/prometheus/prometheus-rule.yaml': ALL_ALERTS,
  'config/components/prometheus-direct/prometheus-rule.yaml': DIRECT_ALERTS,
}

/**
 * The generated files, formatted: path from the repository's root -> content.
 *
 * Throws where a CRD cannot be read or lacks what its types need, and says what that is.
 */
export function generate(): ReadonlyMap<string, string> {
  const accessKey = readCrd('ownedaccesskeys')
  const token = readCrd('directclusterendpointtokens')
  const config = readCrd('configs')
  const [user, team] = [readCrd('users'), readCrd('teams')]
  const claim = readCrd('accesskeyclaims')
  const modules = {
    ownedaccesskey: renderKind(accessKey),
    directclusterendpointtoken: renderKind(token),
    scope: renderScope([accessKey, token]),
    config: renderKind(config),
    user: renderKind(user),
    team: renderKind(team),
    accesskeyclaim: renderKind(claim),
    'provider-group': renderProviderGroup(user, team),
    'config.schema': renderSettingsSchema(config),
  }
  const rules = readFileSync(join(ROOT, RULES), 'utf8')
  const files = Object.entries(modules).map(([name, text]) => asFile(name, 'crds/', text))
  const forOperators = Object.entries(PROMETHEUS_RULES).map(
    ([path, options]) => [path, prometheusRule(rules, options)] as const,
  )
  return new Map([...files, asFile('installation', 'config/', installation()), ...forOperators])
}

/** The generated files that differ from the tree, by path. */
export function staleFiles(generated: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...generated].filter(([path, content]) => current(path) !== content))
}

function readCrd(plural: string): Kind {
  return readKind(join(ROOT, 'crds', `${plural}.yaml`))
}

function installation(): string {
  const inConfig = (path: string): string => join(ROOT, 'config', path)
  return renderInstallation({
    policies: globSync(inConfig('policies/*.yaml')),
    accounts: {
      manager: inConfig('rbac/manager.yaml'),
      gateway: inConfig('rbac/gateway.yaml'),
      delivery: inConfig('rbac/delivery.yaml'),
    },
  })
}

function asFile(name: string, source: string, text: string): [path: string, content: string] {
  const path = `src/api/${name}.gen.ts`
  const input = `// Generated from ${source} by \`make generate\`: do not edit.\n\n${text}`
  const biome = join(ROOT, 'node_modules/.bin/biome')
  const args = ['format', `--stdin-file-path=${path}`]
  return [path, execFileSync(biome, args, { cwd: ROOT, input, encoding: 'utf8' })]
}

function current(path: string): string | null {
  return existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), 'utf8') : null
}

function write(stale: ReadonlyMap<string, string>): void {
  for (const [path, content] of stale) {
    writeFileSync(join(ROOT, path), content)
    console.log(`${path} written`)
  }
}

function complain(stale: ReadonlyMap<string, string>): void {
  for (const path of stale.keys()) console.error(`${path} is stale: run make generate`)
  if (stale.size > 0) process.exitCode = 1
}

if (import.meta.main) (process.argv.includes('--check') ? complain : write)(staleFiles(generate()))
