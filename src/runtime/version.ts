import manifest from '../../package.json' with { type: 'json' }

/** Name of this program, as in --help. */
export const PROGRAM_NAME: string = manifest.name

/** Version of this program, for --version and the user agent. */
export const PROGRAM_VERSION: string = manifest.version
