export type PeerName = 'load' | 'controller-runtime' | 'echo' | 'delegate'
export declare function ensurePeers(
  log: (line: string) => void,
): Promise<Readonly<Record<PeerName, string>>>
