import type { ObservedSettings } from './observed.ts'

/** Where the platform is hosted, according to settings in force; null = they do not say. */
export function platformHostOf(observed: ObservedSettings): string | null {
  if (!observed.known) return null
  const { platformHost } = observed.settings
  return typeof platformHost === 'string' && platformHost !== '' ? platformHost : null
}
