/** Builds the console alone, for its tests and the demo: `npm run build` does it, too. */

import { join } from 'node:path'
import { buildConsole } from './lib/console-build.ts'

await buildConsole(join(import.meta.dirname, '..', 'packages', 'admin'))
