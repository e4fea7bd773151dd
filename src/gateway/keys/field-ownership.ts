import { FIELD_MANAGER } from '../../api/group.ts'

/**
 * The field manager of what the gateway adds to an object of somebody else's making. Nothing is ever
 * applied by it again, so that the field stays when its author applies anew without it.
 */
export const GATEWAY_MANAGER = `${FIELD_MANAGER}-gateway`

/** The field managers that nobody else may write as. */
export const RESERVED_MANAGERS: readonly string[] = [FIELD_MANAGER, GATEWAY_MANAGER]
