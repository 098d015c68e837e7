import { readdirSync, readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { dependenciesFirst, publicPackages } from '../../scripts/lib/public-packages.ts'
import { type Release, releaseProblems } from '../../scripts/lib/release-problems.ts'
import { createTemporaryFolder, repository } from './support/fresh-workspace.ts'
import { run } from './support/run.ts'

const ready: Release = {
  tag: 'v1.2.3',
  packages: [
    { name: '@waybill/core', version: '1.2.3', dependencies: {} },
    { name: '@waybill/sim', version: '1.2.3', dependencies: { '@waybill/core': '1.2.3', ajv: '8.20.0' } },
  ],
  changelog:
    '# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-01-31\n\n### Added\n- Something.\n\n## 1.2.2\n\n- Older.\n',
}

describe('a release', () => {
  test('goes out when tag, versions and changelog agree', () => {
    expect(releaseProblems(ready)).toEqual([])
    expect(releaseProblems({ ...ready, changelog: '## [1.2.3] - 2026-01-31\n- Something.\n' })).toEqual([])
  })

  test.each<[string, Partial<Release>, string]>([
    ['the tag is not a version', { tag: 'v1.2' }, 'not of the form'],
    ['the tag is another version', { tag: 'v1.2.2' }, '@waybill/core has version 1.2.3, the tag says 1.2.2'],
    [
      'a package has another version',
      { packages: [...ready.packages, { name: '@waybill/testkit', version: '1.2.2', dependencies: {} }] },
      '@waybill/testkit has version 1.2.2, the tag says 1.2.3',
    ],
    [
      'a package wants another version of its sibling',
      {
        packages: [
          ...ready.packages,
          { name: '@waybill/testkit', version: '1.2.3', dependencies: { '@waybill/sim': '^1.2.0' } },
        ],
      },
      '@waybill/testkit depends on @waybill/sim ^1.2.0, not on 1.2.3',
    ],
    ['the changelog has no section for it', { changelog: '## Unreleased\n\n- All.\n' }, 'no section for 1.2.3'],
    [
      'its section is empty',
      { changelog: '## 1.2.3\n\n### Added\n\n## 1.2.2\n- Older.\n' },
      'says nothing under 1.2.3',
    ],
    [
      'entries were left under Unreleased',
      { changelog: '## Unreleased\n- Forgotten.\n\n## 1.2.3\n- Something.\n' },
      'still has entries under Unreleased',
    ],
  ])('is refused when %s', (_, change, problem) => {
    expect(releaseProblems({ ...ready, ...change }).join('\n')).toContain(problem)
  })

  test('publishes a package after everything it depends on', () => {
    const packages = [
      { name: 'cli', dependencies: { kafka: '1', core: '1' } },
      { name: 'kafka', dependencies: { core: '1', '@platformatic/kafka': '2' } },
      { name: 'core', dependencies: {} },
    ]
    expect(dependenciesFirst(packages).map(({ name }) => name)).toEqual(['core', 'kafka', 'cli'])
    expect(publicPackages(repository).map(({ name }) => name)).toEqual(
      dependenciesFirst(publicPackages(repository)).map(({ name }) => name),
    )
  })
})

describe('npm run release -- publish', () => {
  const packages = publicPackages(repository)
  let folder: string

  /** Runs the release with a fake npm that publishes nothing, and whose registry has the given packages. */
  async function publish(published: readonly string[]): Promise<string[]> {
    const answers = packages.filter(({ name }) => published.includes(name))
    const cases = answers.map(({ name, version }) => `"view ${name}@${version} version") echo ${version};;`).join(' ')
    const npm = `#!/bin/sh\ncase "$*" in ${cases} view*) exit 1;; *) echo "npm $*";; esac\n`
    await writeFile(join(folder, 'npm'), npm, { mode: 0o755 })
    const environment = { PATH: `${folder}:${process.env['PATH']}` }
    const script = join(repository, 'scripts', 'release.ts')
    const said = await run(process.execPath, [script, 'publish', '/tarballs'], folder, { environment })
    return said.trim().split('\n')
  }

  beforeAll(async () => {
    folder = await createTemporaryFolder()
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('publishes every tarball, dependencies first', async () => {
    expect(await publish([])).toEqual(
      packages.map(
        ({ shortName, version }) =>
          `npm publish /tarballs/waybill-${shortName}-${version}.tgz --access public --tag latest`,
      ),
    )
  })

  test('takes up a release that broke off where it stopped', async () => {
    const lines = await publish(['@waybill/core'])
    expect(lines[0]).toMatch(/^@waybill\/core@\S+ is published already\.$/)
    expect(lines.filter((line) => line.startsWith('npm publish'))).toHaveLength(packages.length - 1)
  })
})

const folder = join(repository, '.github', 'workflows')
const workflows = readdirSync(folder).map((file) => ({ file, text: readFileSync(join(folder, file), 'utf8') }))

describe('the release workflow', () => {
  interface Job {
    readonly steps?: readonly { readonly run?: string }[]
  }
  const { text } = workflows.find(({ file }) => file === 'release.yml') ?? { text: '' }
  const { jobs } = parse(text) as { jobs: Readonly<Record<string, Job>> }
  const commands = Object.values(jobs).flatMap(({ steps = [] }) => steps.flatMap((step) => step.run ?? []))

  test('builds and publishes with the Node of the runner, without install scripts', () => {
    expect(commands).toContain('node scripts/bundle.ts')
    expect(commands.filter((command) => /npm ci|npm install/.test(command))).toEqual(['npm ci --ignore-scripts'])
    // `npm run` and `npx` put node_modules/.bin first, and its Node comes from an install script.
    expect(commands.filter((command) => /npm run|npx/.test(command))).toEqual([])
  })

  test('packs nothing with a Node from node_modules', async () => {
    const fetched = join(repository, 'node_modules', '.bin', 'node')
    const packing = run(fetched, [join(repository, 'scripts', 'release.ts'), 'pack', '/tarballs'], repository)
    await expect(packing).rejects.toThrow('with the Node of the machine')
  })
})

describe.each(workflows)('the workflow $file', ({ text }) => {
  test('pins every action by its commit, since a tag can be moved', () => {
    const used = [...text.matchAll(/uses: (.*)$/gm)].map((match) => match[1] ?? '')
    expect(used).not.toEqual([])
    expect(used.filter((action) => !/^\.\/|@[0-9a-f]{40} # v[\d.]+$/.test(action))).toEqual([])
  })

  test('runs scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { scripts: object }
    const called = [...text.matchAll(/run: npm (?:run )?([\w:]+)/g)].map((match) => match[1] ?? '')
    expect(called).not.toEqual([])
    expect([...Object.keys(scripts), 'ci']).toEqual(expect.arrayContaining(called))
  })
})

test('only the job that publishes may ask for an identity, and it waits for the check', () => {
  const jobs = workflows.flatMap(({ text }) => text.split(/^(?= {2}\w[\w-]*:$)/m))
  const withIdentity = jobs.filter((job) => job.includes('id-token: write'))
  expect(withIdentity.map((job) => job.split('\n')[0])).toEqual(['  publish:'])
  expect(withIdentity[0]).toContain('needs: [check, pack]')
  expect(withIdentity[0]).not.toMatch(/npm (ci|install)/)
})
