// Unit tests run at low priority beside files with a control plane: see tools/test.ts.
import { constants, setPriority } from 'node:os'
import { isWhole } from './tier.ts'

if (!isWhole) setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
