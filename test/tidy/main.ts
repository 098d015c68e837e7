/**
 * `npm run check:tidy`: the rules in plain Node, before anything is compiled. A forbidden import often breaks the
 * compiler or the test runner too, whose error would hide which rule it breaks.
 */

import { join } from 'node:path'
import { readRepository } from './read-repository.ts'
import { rules } from './rules.ts'
import { report } from './tree.ts'

const repository = readRepository(process.argv[2] ?? join(import.meta.dirname, '..', '..'))
const broken = rules.map((rule) => report(rule, repository)).filter((text) => text !== '')
process.stdout.write(broken.map((text) => `${text}\n\n`).join(''))
if (broken.length > 0) process.exitCode = 1
