/**
 * `npm run release -- check <tag> | pack <folder> | publish <folder>`: the steps of a release, in that order.
 *
 * They are three because only the last may hold the right to publish: it runs no code but this file, which needs no
 * dependencies, on tarballs that were packed and checked without that right.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type PublicPackage, publicPackages } from './lib/public-packages.ts'
import { releaseProblems } from './lib/release-problems.ts'

const root = join(import.meta.dirname, '..')
const packages = publicPackages(root)

function check(tag: string): void {
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const problems = releaseProblems({ tag, packages, changelog })
  if (problems.length > 0) fail(`${tag} cannot be released:\n${problems.map((each) => `  ${each}`).join('\n')}`)
  say(`${tag}: ${packages.map(({ name }) => name).join(', ')}`)
}

/** Packs the built packages, without any script of theirs. */
function pack(folder: string): void {
  // `npm run` finds the Node that an install script of a dependency fetched, and users get what it builds.
  if (process.execPath.startsWith(join(root, 'node_modules')))
    fail(
      `Do not release with ${process.execPath}: run \`node scripts/release.ts pack …\` with the Node of the machine.`,
    )
  mkdirSync(folder, { recursive: true })
  for (const each of packages) npm('pack', join(root, each.folder), '--ignore-scripts', '--pack-destination', folder)
}

/** Publishes dependencies first, so that no user can install a package whose dependency is still missing. */
function publish(folder: string): void {
  for (const each of packages) {
    if (isPublished(each)) say(`${each.name}@${each.version} is published already.`)
    else npm('publish', tarballOf(folder, each), '--access', 'public', '--tag', distTagOf(each.version))
  }
}

/** Lets an interrupted release be run again. When the registry cannot answer, publishing fails with the reason. */
function isPublished({ name, version }: PublicPackage): boolean {
  try {
    const answer = execFileSync('npm', ['view', `${name}@${version}`, 'version'], { encoding: 'utf8', stdio: 'pipe' })
    return answer.trim() === version
  } catch {
    return false
  }
}

function tarballOf(folder: string, { name, version }: PublicPackage): string {
  return join(folder, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)
}

/** Returns the dist-tag. A prerelease must not become the version that a plain `npm install` installs. */
function distTagOf(version: string): string {
  return version.includes('-') ? 'next' : 'latest'
}

function npm(...args: string[]): void {
  execFileSync('npm', args, { stdio: 'inherit' })
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

function fail(reason: string): never {
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}

const [step, subject] = process.argv.slice(2)
if (step === 'check' && subject !== undefined) check(subject)
else if (step === 'pack' && subject !== undefined) pack(resolve(subject))
else if (step === 'publish' && subject !== undefined) publish(resolve(subject))
else fail('npm run release -- check <tag> | pack <folder> | publish <folder>')
