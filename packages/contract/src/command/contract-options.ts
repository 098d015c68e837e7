import { compatibilityModes } from '../policy/compatibility-mode.ts'
import type { CommandOption } from './command.ts'

/** Options that several commands share. */
export const sharedOptions: Readonly<Record<'catalog' | 'folder' | 'help', CommandOption>> = {
  catalog: {
    type: 'string',
    multiple: true,
    takes: 'FILE',
    about: 'a module that exports event catalogs; may be repeated',
  },
  folder: { type: 'string', takes: 'DIR', about: 'the folder of the contract files (schemas)' },
  help: { type: 'boolean', about: 'prints this text' },
}

type CheckOption = 'against' | 'policy' | 'format' | 'strict' | 'waivers' | 'consumers'

/** Options of checks. */
export const checkOptions: Readonly<Record<CheckOption, CommandOption>> = {
  against: {
    type: 'string',
    takes: 'BASE',
    about: 'git:REVISION, such as git:origin/main, or a folder of contract files',
  },
  policy: {
    type: 'string',
    takes: 'POLICY',
    oneOf: compatibilityModes,
    about: `${compatibilityModes.join(', ')} (FULL)`,
  },
  format: {
    type: 'string',
    takes: 'FORMAT',
    oneOf: ['text', 'json', 'github', 'sarif', 'junit'],
    about: 'text, json, github, sarif, junit (text)',
  },
  consumers: {
    type: 'string',
    multiple: true,
    takes: 'FILE',
    about: 'a module that exports consumers or catalogs, to run with generated events; may be repeated',
  },
  strict: { type: 'boolean', about: 'fails on warnings, and on what cannot be told' },
  waivers: { type: 'string', takes: 'FILE', about: 'the file of waivers (waivers.json in the folder)' },
}

/** The folder of the contract files unless another is given. */
export const defaultFolder = 'schemas'
