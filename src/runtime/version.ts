import manifest from '../../package.json' with { type: 'json' }

/** Version of this program, for --version and the user agent. */
export const PROGRAM_VERSION: string = manifest.version
