import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Tree } from './tree.ts'

/**
 * Reads the files of the repository: all that .gitignore does not exclude. It does not use git, so that the rules also
 * run on an unpacked archive and see a file before it is added.
 */
export function readRepository(root: string): Tree {
  const isIgnored = ignoredBy(readFileSync(join(root, '.gitignore'), 'utf8'))
  const files = new Map<string, string>()
  const walk = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      if (isIgnored(entry.name)) continue
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) walk(path)
      if (entry.isFile()) files.set(path, readFileSync(join(root, path), 'utf8'))
    }
  }
  walk('')
  return files
}

/** Supports the two forms of our .gitignore: `name/` and `*.ending`. */
function ignoredBy(gitignore: string): (name: string) => boolean {
  const patterns = gitignore.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const names = new Set(['.git', ...patterns.map((pattern) => pattern.replace(/\/$/, ''))])
  const endings = patterns.filter((pattern) => pattern.startsWith('*.')).map((pattern) => pattern.slice(1))
  return (name) => names.has(name) || endings.some((ending) => name.endsWith(ending))
}
