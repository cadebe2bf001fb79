// Writes dataset/lerobot/testdata/language: a LeRobot dataset with language columns, and their values as JSON. The tables are written by
// arrow-rs (parquet-wasm), which is independent of the readers and writers here. Node has to find the packages:
//
//     npm install --prefix /tmp/language parquet-wasm apache-arrow
//     cp scripts/gen_language_golden.mjs /tmp/language/ && node /tmp/language/gen_language_golden.mjs dataset/lerobot/testdata/language
//
// The first file has the types that pyarrow derives from values, as LeRobot's annotation writes them: structures for tool_calls, float64, and a
// column of nulls for a camera that no element has. Its second episode has no events. The second file has the types of LeRobot's
// language.py, required fields among them, in pages of a few rows without dictionaries. The third has no events, of which pyarrow derives lists of
// nulls.
import * as arrow from 'apache-arrow';
import { createRequire } from 'module';
import fs from 'fs';
import path from 'path';

const parquet = createRequire(import.meta.url)('parquet-wasm');
const { Bool, Field, Float32, Float64, Int64, List, Null, Struct, Utf8 } = arrow;

// The library does not count the nulls of a column of nulls.
const counted = Object.getOwnPropertyDescriptor(arrow.Data.prototype, 'nullCount');
Object.defineProperty(arrow.Data.prototype, 'nullCount', { get() { return this.typeId === arrow.Type.Null ? this.length : counted.get.call(this); } });

const optional = (name, type) => new Field(name, type, true);
const required = (name, type) => new Field(name, type, false);
const listOf = (type) => new List(optional('element', type));
const struct = (fields) => new Struct(fields);

const say = (text) => ({ type: 'function', function: { name: 'say', arguments: { text, loud: text.length > 3, times: BigInt(text.length) } } });
const call = struct([optional('type', new Utf8()), optional('function', struct([optional('name', new Utf8()),
  optional('arguments', struct([optional('text', new Utf8()), optional('loud', new Bool()), optional('times', new Int64())]))]))]);
const derived = {
  persistent: listOf(struct([optional('role', new Utf8()), optional('content', new Utf8()), optional('style', new Utf8()), optional('timestamp', new Float64()),
    optional('camera', new Null()), optional('tool_calls', new Null())])),
  events: listOf(struct([optional('role', new Utf8()), optional('content', new Utf8()), optional('style', new Utf8()), optional('camera', new Utf8()),
    optional('tool_calls', listOf(call))])),
};
const declared = {
  persistent: listOf(struct([required('role', new Utf8()), optional('content', new Utf8()), optional('style', new Utf8()), required('timestamp', new Float32()),
    optional('camera', new Utf8()), optional('tool_calls', listOf(new Utf8()))])),
  events: listOf(struct([required('role', new Utf8()), optional('content', new Utf8()), optional('style', new Utf8()), optional('camera', new Utf8()),
    optional('tool_calls', listOf(new Utf8()))])),
};

const noEvents = { persistent: derived.persistent, events: listOf(new Null()) };

const state = (role, content, style, timestamp, more) => ({ role, content, style, timestamp, camera: null, tool_calls: null, ...more });
const event = (role, content, style, camera, tool_calls) => ({ role, content, style, camera, tool_calls });
const episodes = [
  { file: 0, rows: 12, persistent: () => [state('assistant', 'reach the cup', 'subtask', 0), state('assistant', null, 'memory', 0.25), null],
    events: { 1: [event('user', 'which cup?', 'interjection', null, null), event('assistant', null, null, null, [say('the red one'), say('ok')])],
      2: [event('assistant', '[1, 2]', 'vqa', 'observation.images.top', [])], 7: [event('assistant', '', 'trace', null, [null])], 8: null,
      11: [event('user', 'stop', 'interjection', null, null)] } },
  { file: 0, rows: 7, persistent: (i) => (i < 3 ? null : i < 5 ? [] : [state('assistant', 'wait', 'subtask', 0.5)]), events: {} },
  { file: 1, rows: 40, persistent: (i) => [state('assistant', 'part ' + (i >> 3), 'plan', (i >> 3) / 10, { camera: i % 2 ? 'top' : null, tool_calls: i % 3 ? null : ['{"a":1}', null, ''] })],
    events: { 0: [event('user', 'go', null, null, ['{"name":"say"}'])], 4: [event('user', 'left ✓', 'interjection', 'top', null)], 5: [event('user', 'right', 'interjection', 'top', [])] } },
  { file: 2, rows: 3, persistent: () => [state('assistant', 'rest', 'subtask', 0)], events: {} },
];

const out = process.argv[2];
const write = (name, text) => { fs.mkdirSync(path.dirname(path.join(out, name)), { recursive: true }); fs.writeFileSync(path.join(out, name), text); };
const table = (name, columns, options) => {
  const t = new arrow.Table(Object.fromEntries(columns.map(([n, type, values]) => [n, arrow.vectorFromArray(values, type)])));
  write(name, parquet.writeParquet(parquet.Table.fromIPCStream(arrow.tableToIPC(t, 'stream')), options));
};
const golden = [];
for (const file of [0, 1, 2]) {
  const rows = [];
  episodes.forEach((e, number) => {
    if (e.file !== file) return;
    for (let i = 0; i < e.rows; i++) {
      const events = i in e.events ? e.events[i] : [];
      rows.push({ number, i, persistent: e.persistent(i), events, before: episodes.slice(0, number).reduce((n, o) => n + o.rows, 0) });
    }
  });
  const types = [derived, declared, noEvents][file];
  const column = (name, type, value) => [name, type, rows.map(value)];
  const options = new parquet.WriterPropertiesBuilder().setCompression(parquet.Compression.SNAPPY).setDictionaryEnabled(file !== 1);
  table(`data/chunk-000/file-00${file}.parquet`, [
    column('observation.state', new Float32(), (r) => r.number + r.i / 8),
    column('timestamp', new Float32(), (r) => r.i / 20), column('frame_index', new Int64(), (r) => BigInt(r.i)),
    column('episode_index', new Int64(), (r) => BigInt(r.number)), column('index', new Int64(), (r) => BigInt(r.before + r.i)),
    column('task_index', new Int64(), () => 0n),
    column('language_persistent', types.persistent, (r) => r.persistent), column('language_events', types.events, (r) => r.events),
  ], (file === 1 ? options.setWriteBatchSize(4).setDataPageSizeLimit(64) : options).build());
  golden.push(...rows.map((r) => ({ episode: r.number, row: r.i, language_persistent: r.persistent, language_events: r.events })));
}
table('meta/tasks.parquet', [['task_index', new Int64(), [0n]], ['task', new Utf8(), ['bring a cup']]], new parquet.WriterPropertiesBuilder().build());
let from = 0n;
const places = episodes.map((e) => [from, (from += BigInt(e.rows))]);
table('meta/episodes/chunk-000/file-000.parquet', [
  ['episode_index', new Int64(), episodes.map((e, i) => BigInt(i))], ['tasks', listOf(new Utf8()), episodes.map(() => ['bring a cup'])],
  ['length', new Int64(), episodes.map((e) => BigInt(e.rows))], ['data/chunk_index', new Int64(), episodes.map(() => 0n)],
  ['data/file_index', new Int64(), episodes.map((e) => BigInt(e.file))], ['dataset_from_index', new Int64(), places.map((p) => p[0])],
  ['dataset_to_index', new Int64(), places.map((p) => p[1])],
], new parquet.WriterPropertiesBuilder().build());
const feature = (dtype) => ({ dtype, shape: [1], names: null });
write('meta/info.json', JSON.stringify({
  codebase_version: 'v3.0', robot_type: null, total_episodes: 4, total_frames: Number(from), total_tasks: 1, chunks_size: 1000, fps: 20, splits: { train: '0:4' },
  data_path: 'data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet', video_path: null,
  features: { 'observation.state': feature('float32'), timestamp: feature('float32'), frame_index: feature('int64'), episode_index: feature('int64'),
    index: feature('int64'), task_index: feature('int64'), language_persistent: feature('language'), language_events: feature('language') },
}, null, 1) + '\n');
write('values.json', JSON.stringify(golden, (k, v) => (typeof v === 'bigint' ? Number(v) : v), 1) + '\n');
