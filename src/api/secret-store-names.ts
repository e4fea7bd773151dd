// Names of the secret store (contract 36).
import { DELIVERY_FIELD_MANAGER, GROUP } from './names.ts'

/**
 * Secret with the settings in force that the delivery process needs, with the token of the secret store (contract 36.1), data key
 * `config`, JSON.
 */
export const DELIVERY_SETTINGS_SECRET = 'platform-settings-delivery'

/**
 * ConfigMap with the state of the secret store (contract 36.1), data key `status`, JSON as in domain/store/store-status.ts. The
 * operator copies it into condition SecretStoreReady.
 */
export const SECRET_STORE_STATUS_CONFIG_MAP = 'platform-secret-store-status'

/** On a Secret: `Pull` or `Push`, the direction between it and the secret store (contract 36.2). */
export const SECRET_STORE_LABEL = `${GROUP}/secret-store`

/** On such a Secret: the path of its entry below the project's part of the store; absent = its name (contract 36.2). */
export const SECRET_STORE_PATH_ANNOTATION = `${GROUP}/secret-store-path`

/** On such a Secret: the version of the store's key-value engine, `2` (absent) or `1` (contract 36.2). */
export const SECRET_STORE_VERSION_ANNOTATION = `${GROUP}/secret-store-version`

/** On a Secret that is pushed: the version of the entry that was written last (contract 36.4). */
export const SECRET_STORE_WRITTEN_ANNOTATION = `${GROUP}/secret-store-written`

/** The field manager of annotation `secret-store-written`: DELIVERY_FIELD_MANAGER names the data of claims, and nothing else. */
export const PUSH_FIELD_MANAGER = `${DELIVERY_FIELD_MANAGER}-store`
