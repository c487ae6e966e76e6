// A server and a client in one process: over a path, and over loopback.
const net = require('net');
const os = require('os');
const path = require('path');

async function talk(address) {
  const server = net.createServer((socket) => socket.end('hello'));
  await new Promise((resolve) => server.listen(address, resolve));
  const target = typeof address === 'string' ? address : server.address().port;
  const text = await new Promise((resolve, reject) => {
    let received = '';
    net.connect(target)
      .on('data', (data) => { received += data; })
      .on('end', () => resolve(received))
      .on('error', reject);
  });
  server.close();
  return text;
}

(async () => {
  console.log(await talk(path.join(os.tmpdir(), 'server.sock')));
  console.log(await talk({ port: 0, host: '127.0.0.1' }));
})();
