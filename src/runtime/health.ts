import { type Page, plainText } from './http.ts'

/** Returns the reason why the check fails, in a few words without a line break; null = it passes. */
export type HealthCheck = () => string | null

/**
 * A page of checks by name in the format of Kubernetes' components: `ok`, or a line for each check with
 * `?verbose` and whenever one fails (contract 8.2).
 *
 * @param name `healthz` or `readyz`, for the last line
 */
export function healthPage(name: string, checks: Readonly<Record<string, HealthCheck>>): Page {
  return (query) => {
    const results = Object.entries(checks).map(([check, run]) => [check, run()] as const)
    const lines = results.map(([check, reason]) =>
      reason === null ? `[+]${check} ok` : `[-]${check} failed: ${reason}`,
    )
    const passed = results.every(([, reason]) => reason === null)
    if (!passed) return plainText(500, [...lines, `${name} check failed`].join('\n'))
    if (!query.has('verbose')) return plainText(200, 'ok')
    return plainText(200, [...lines, `${name} check passed`].join('\n'))
  }
}
