/**
 * Epoch milliseconds as a MicroTime (Lease, Event): RFC 3339 in UTC with exactly six digits, for the
 * API server refuses any other number of them.
 */
export const microTime = (atMs: number): string => new Date(atMs).toISOString().replace('Z', '000Z')
