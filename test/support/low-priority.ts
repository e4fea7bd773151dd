// Units work beside files that have a control plane, in the time that those leave: see tools/test.ts.
import { constants, setPriority } from 'node:os'
import { isWhole } from './tier.ts'

if (!isWhole) setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
