//! A guest that sends requests as its arguments say, for the tests of the sandbox: `SCHEME AUTHORITY PATH [KEY=VALUE]…`.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions,
    Scheme,
};
use wasip2::io::streams::{OutputStream, StreamError};

/// How much is written at once.
const CHUNK: [u8; 4096] = [b'x'; 4096];

#[derive(Default)]
struct Plan {
    scheme: String,
    authority: String,
    path: String,
    method: Option<String>,
    headers: Vec<(String, String)>,
    body_bytes: usize,
    times: usize,
    together: usize,
    connect_ms: Option<u64>,
    first_ms: Option<u64>,
    between_ms: Option<u64>,
    hangs: bool,
}

fn main() {
    let plan = Plan::parse(std::env::args().skip(1));
    for _ in 0..plan.times {
        let sent: Vec<_> = (0..plan.together).map(|_| send(&plan)).collect();
        // Answers that were not read yet keep their connections.
        let answers: Vec<_> = sent.into_iter().map(|sent| sent.and_then(answer)).collect();
        if plan.hangs {
            println!("hangs");
            std::thread::sleep(std::time::Duration::from_secs(3_600));
        }
        for answer in answers {
            match answer.and_then(show) {
                Ok(line) => println!("{line}"),
                Err(error) => println!("{error}"),
            }
        }
    }
}

impl Plan {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut word = || arguments.next().expect("an argument");
        let mut plan = Self { scheme: word(), authority: word(), path: word(), times: 1, together: 1, ..Self::default() };
        for argument in arguments {
            let (key, value) = argument.split_once('=').expect("a key and a value");
            let number = || value.parse().expect("a number");
            match key {
                "method" => plan.method = Some(value.to_owned()),
                "header" => plan.headers.extend(value.split_once(':').map(|(name, value)| (name.to_owned(), value.to_owned()))),
                "body" => plan.body_bytes = number() as usize,
                "times" => plan.times = number() as usize,
                "together" => plan.together = number() as usize,
                "connect" => plan.connect_ms = Some(number()),
                "first" => plan.first_ms = Some(number()),
                "between" => plan.between_ms = Some(number()),
                "hang" => plan.hangs = true,
                other => panic!("no key {other}"),
            }
        }
        plan
    }

    fn scheme(&self) -> Option<Scheme> {
        match self.scheme.as_str() {
            "" => None,
            "http" => Some(Scheme::Http),
            "https" => Some(Scheme::Https),
            other => Some(Scheme::Other(other.to_owned())),
        }
    }

    fn options(&self) -> RequestOptions {
        let options = RequestOptions::new();
        let nanoseconds = |milliseconds: Option<u64>| milliseconds.map(|number| number * 1_000_000);
        options.set_connect_timeout(nanoseconds(self.connect_ms)).expect("connect");
        options.set_first_byte_timeout(nanoseconds(self.first_ms)).expect("first byte");
        options.set_between_bytes_timeout(nanoseconds(self.between_ms)).expect("between bytes");
        options
    }
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "CONNECT" => Method::Connect,
        "TRACE" => Method::Trace,
        other => Method::Other(other.to_owned()),
    }
}

fn send(plan: &Plan) -> Result<FutureIncomingResponse, String> {
    let fields = Fields::new();
    for (name, value) in &plan.headers {
        fields.append(name, value.as_bytes()).map_err(|error| format!("field: {error:?}"))?;
    }
    let request = OutgoingRequest::new(fields);
    let name = plan.method.as_deref().unwrap_or(if plan.body_bytes > 0 { "POST" } else { "GET" });
    request.set_method(&method(name)).map_err(|()| "method")?;
    request.set_scheme(plan.scheme().as_ref()).map_err(|()| "scheme")?;
    request.set_authority(Some(&plan.authority)).map_err(|()| "authority")?;
    request.set_path_with_query(Some(&plan.path)).map_err(|()| "path")?;
    if plan.body_bytes == 0 {
        return handle(request, Some(plan.options())).map_err(told);
    }
    let body = request.body().map_err(|()| "body")?;
    let sending = handle(request, Some(plan.options())).map_err(told)?;
    let stream = body.write().map_err(|()| "stream")?;
    // When the body is not wanted any more, the answer says why.
    let is_written = write(&stream, plan.body_bytes).is_ok();
    drop(stream);
    if is_written {
        let _ = OutgoingBody::finish(body, None);
    }
    Ok(sending)
}

fn write(stream: &OutputStream, mut left: usize) -> Result<(), StreamError> {
    while left > 0 {
        let length = left.min(CHUNK.len());
        stream.blocking_write_and_flush(&CHUNK[..length])?;
        left -= length;
    }
    Ok(())
}

fn answer(sending: FutureIncomingResponse) -> Result<IncomingResponse, String> {
    loop {
        match sending.get() {
            Some(result) => return result.expect("asked once").map_err(told),
            None => sending.subscribe().block(),
        }
    }
}

fn show(response: IncomingResponse) -> Result<String, String> {
    let fields = response.headers().entries();
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(value))).collect();
    let body = response.consume().map_err(|()| "consumed")?;
    let text = read(&body)?;
    let shown = text.get(..80).unwrap_or(&text);
    Ok(format!("{} [{}] {} {shown:?}", response.status(), fields.join(" "), text.len()))
}

fn read(body: &IncomingBody) -> Result<String, String> {
    let stream = body.stream().map_err(|()| "stream")?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(64 * 1024) {
            Ok(chunk) => bytes.extend(chunk),
            Err(StreamError::Closed) => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(StreamError::LastOperationFailed(error)) => {
                let code = wasip2::http::types::http_error_code(&error).map_or_else(|| error.to_debug_string(), told);
                return Err(format!("after {} bytes: {code}", bytes.len()));
            }
        }
    }
}

fn told(code: ErrorCode) -> String {
    format!("{code:?}").trim_start_matches("ErrorCode::").to_owned()
}
